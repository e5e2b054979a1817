"""Small things that every room of the package may use: JSON with a version, records that check their fields, sizes as people read
them, memory, cancellation.

It may import errors and the native core. Each file stands alone.
"""
