package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Store holds objects by name. A name is a path with slashes below the store's own
// folder or prefix (fs.ValidPath). Nothing is overwritten and nothing removed. All
// methods may be called at once from several goroutines.
type Store interface {
	// Put creates an object. Nobody sees a part of it. ErrExists says that there is
	// one of that name; it stays as it is.
	Put(ctx context.Context, name string, from Source) error
	// Get reads an object. ErrNotFound says that there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Head describes an object without sending it. ErrNotFound as with Get.
	Head(ctx context.Context, name string) (Object, error)
	// List gives the objects of a folder in no particular order: with deep all below
	// it, else those in it and its folders. One that is not there is empty. SHA256 is
	// not filled in.
	List(ctx context.Context, folder string, deep bool) iter.Seq2[Object, error]
	// String is the reference that opens the store.
	String() string
}

// Source is what an object is made from. Body may be read more than once, and from
// several places at once.
type Source struct {
	Body   io.ReaderAt
	Size   int64
	SHA256 string // hexadecimal
	CRC32C string // hexadecimal; empty where it isn't known
}

// Object is what a store says of one.
type Object struct {
	Name   string
	Size   int64
	SHA256 string // as it was put; empty where the store does not know
	Folder bool   // with List only: not an object but a folder of them
}

// Errors that callers tell apart with errors.Is.
var (
	ErrExists   = errors.New("is there already")
	ErrNotFound = errors.New("is not there")
)

// tidier is a store in which a killed uploader leaves something that is no object.
type tidier interface {
	// tidy removes it below a folder and says how many there were.
	tidy(ctx context.Context, folder string) (int, error)
}

// quitter is a store in which an upload that failed may leave something of ours that is
// no object.
type quitter interface {
	// quit removes it, and nothing of another uploader's.
	quit(ctx context.Context) error
}

// PathStyle says how a bucket stands in an address.
type PathStyle string

// PathStyleAuto puts it into the path with an endpoint of one's own, as MinIO and
// Ceph want it, and into the host name at AWS.
const (
	PathStyleAuto PathStyle = "auto"
	PathStyleOn   PathStyle = "on"
	PathStyleOff  PathStyle = "off"
)

// Options of a store in S3; a folder has none. The zero value is AWS with the default
// chain of credentials.
type Options struct {
	Region    string    // AWS_REGION or the profile's when empty, then us-east-1
	Endpoint  string    // URL; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL when empty, then AWS
	PathStyle PathStyle // auto when empty

	// RoleToAssume is the ARN of a role that GitHub's token is exchanged for. The
	// token is asked for when it is needed, not when the job began: one of an hour
	// had expired before a long run's upload (spec/pitfalls.md).
	RoleToAssume string

	SSE          string // AES256, aws:kms or aws:kms:dsse; the bucket's own rule when empty
	KMSKeyID     string // with aws:kms
	StorageClass string // STANDARD when empty

	// Proxy settings; those of the environment (HTTPS_PROXY, NO_PROXY …) when nil.
	Proxy *httpproxy.Config

	MaxAttempts int           // of one request; 6 when 0
	RetryFor    time.Duration // how long no request may end well, sending included, before none is repeated any more; 2 minutes when 0

	// Env is the environment that the Actions runner describes itself in;
	// os.Getenv when nil.
	Env func(name string) string
}

// IsRemote reports whether a reference names a store that is no folder.
func IsRemote(ref string) bool { return strings.HasPrefix(ref, schemeS3) }

// Open opens the store that a reference names: s3://bucket/prefix, or a folder. It
// speaks to nobody yet: credentials are resolved by the first request. A folder is
// made by the first object.
func Open(ctx context.Context, ref string, o Options) (Store, error) {
	if err := Check(ref, o); err != nil {
		return nil, err
	}
	if IsRemote(ref) {
		return openS3(ctx, ref, o)
	}
	return openFolder(ref), nil
}

// checkName refuses what is no name of an object.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("%q is no name of an object", name)
	}
	return nil
}
