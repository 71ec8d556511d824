package result

//go:generate go test . -run TestSchemas -update
