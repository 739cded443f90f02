"""What of jobs that run now, started by assay or not?"""
