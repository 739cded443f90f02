"""What is seen from outside of a running job that assay did not start?"""
