"""How is an unmodified training script observed?"""
