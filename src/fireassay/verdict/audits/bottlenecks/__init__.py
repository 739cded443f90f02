"""Where does the time go, and what could be gained?"""
