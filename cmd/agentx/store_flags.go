package main

import "github.com/org/agentx-action/pkg/publish/store"

// storeFlags say where runs are kept.
type storeFlags struct {
	Store string `help:"Where runs are kept: s3://bucket/prefix, or a folder." placeholder:"WHERE" group:"Store" config:"substitute"`
}

func (f *storeFlags) options() store.Options { return store.Options{} }
