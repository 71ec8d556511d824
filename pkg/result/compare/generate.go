package compare

//go:generate go test . -run TestSchemas -update
