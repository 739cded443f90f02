"""How do jobs that assay did not start become sealed records, marked as observed?"""
