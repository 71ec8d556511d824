package main

import (
	"fmt"

	"github.com/org/agentx-action/pkg/publish/store"
)

// storeFlags say where runs are kept.
type storeFlags struct {
	Store string `help:"Where runs are kept: s3://bucket/prefix, or a folder." placeholder:"WHERE" group:"Store" config:"substitute"`
	s3Flags
}

func (f *storeFlags) options() store.Options { return f.s3Options() }

// refuse names what shows to be wrong without asking a store that is elsewhere.
func (f *storeFlags) refuse() error {
	if f.Store == "" {
		return nil
	}
	err := store.Check(f.Store, f.options())
	if err == nil {
		err = store.CheckWritable(f.Store)
	}
	if err != nil {
		return fmt.Errorf("--store: %w", err)
	}
	return nil
}

// s3Flags say how a store in S3 is spoken to, for writing and for reading. Keys are no
// flags: they come from the usual variables and files, or from a role.
type s3Flags struct {
	S3Region       string `name:"s3-region" help:"Region of the bucket; AWS_REGION or the profile's when not given, then us-east-1." placeholder:"NAME" group:"Store" config:"substitute"`
	S3Endpoint     string `name:"s3-endpoint" help:"Address of a store that is not AWS: MinIO, R2, Ceph." placeholder:"URL" group:"Store" config:"substitute"`
	S3PathStyle    string `name:"s3-path-style" enum:"auto,on,off" default:"auto" help:"The bucket in the path instead of in the host's name: on, off, or auto: on with an endpoint." placeholder:"HOW" group:"Store"`
	S3RoleToAssume string `name:"s3-role-to-assume" help:"ARN of a role to assume with GitHub's token, asked for when it is needed; the job needs the permission id-token: write." placeholder:"ARN" group:"Store" config:"substitute"`
	S3SSE          string `name:"s3-sse" enum:",AES256,aws:kms,aws:kms:dsse" default:"" help:"Encryption at rest: AES256, aws:kms, aws:kms:dsse; the bucket's own rule when not given." placeholder:"HOW" group:"Store"`
	S3KMSKeyID     string `name:"s3-kms-key-id" help:"Key for it, with aws:kms." placeholder:"ID" group:"Store" config:"substitute"`
	S3StorageClass string `name:"s3-storage-class" help:"Storage class, as STANDARD_IA." placeholder:"NAME" group:"Store"`
}

// s3Options are a store's options. Proxies are those of the environment.
func (f *s3Flags) s3Options() store.Options {
	return store.Options{
		Region: f.S3Region, Endpoint: f.S3Endpoint, PathStyle: store.PathStyle(f.S3PathStyle), RoleToAssume: f.S3RoleToAssume,
		SSE: f.S3SSE, KMSKeyID: f.S3KMSKeyID, StorageClass: f.S3StorageClass,
	}
}
