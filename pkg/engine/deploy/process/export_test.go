package process

// Marks sets the names of the variables that mark an engine.
func Marks(prefix string) { markEngine, markOwner = prefix+"ENGINE", prefix+"OWNER" }
