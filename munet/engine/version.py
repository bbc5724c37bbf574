"""The version of this package: read from here by the build, the project file's header and `munet --version`."""

VERSION = "0.1.0"
