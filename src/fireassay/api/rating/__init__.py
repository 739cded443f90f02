"""How do people rate items in a browser, without a row being lost?"""
