"""Data sets behind the source nodes: each a function that gives a `Dataset`. Nothing here is fetched while a project runs."""
