"""The scenarios, a module for each family; importing this package registers all of them."""

from lab.scenarios import endpoints, mesh, network, ordinary, preambles, reasons, shapes

FAMILIES = (mesh, ordinary, preambles, network, endpoints, reasons, shapes)
"""In the order of the list of all; a family's docstring is its heading."""
