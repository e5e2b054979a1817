"""The runtime: matchers over compiled tables. Imports NumPy and the native core; never a grammar tool."""
