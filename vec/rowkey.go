package vec
