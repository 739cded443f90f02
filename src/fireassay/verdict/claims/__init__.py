"""Is a published claim sound?"""
