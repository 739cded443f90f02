"""How are images kept in a record?"""
