"""What is a number in assay: its value, interval, method and text?"""
