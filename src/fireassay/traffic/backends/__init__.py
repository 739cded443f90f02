"""Which dialects can a load speak, one file with one `BACKEND` each?"""
