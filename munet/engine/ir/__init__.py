"""The intermediate representation: single-assignment ops over typed values, with states and regions."""
