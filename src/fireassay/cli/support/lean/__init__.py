"""What do verbs that only read a record leave out of the libraries that they load?"""
