"""Where does the time go, and what would be gained?"""
