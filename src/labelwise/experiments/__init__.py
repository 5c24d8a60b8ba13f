"""The paper's experiments, as small declarative modules over the library."""
