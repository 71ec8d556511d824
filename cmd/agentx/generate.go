package main

//go:generate go test . -run TestGenerated|TestActionFile -update
