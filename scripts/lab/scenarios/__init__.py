"""The scenarios, a module for each family; importing this package registers all of them."""

from lab.scenarios import mesh, ordinary

__all__ = ["mesh", "ordinary"]
