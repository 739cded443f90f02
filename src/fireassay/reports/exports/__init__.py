"""How do the results of a record become files that other programs read? One file each, the reverse of fireassay.importers."""
