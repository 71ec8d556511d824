package store

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// parts is the client as the transfer manager uses it.
type parts struct {
	*s3.Client
	b *bucket
}

// unsigned stands for the hash of a body that is not signed.
const unsigned = "UNSIGNED-PAYLOAD"

// CreateMultipartUpload is not cut off in its middle: an upload of which the answer
// with its name is lost could not be given up.
func (p parts) CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, o ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	return p.Client.CreateMultipartUpload(ctx, in, o...)
}

// UploadPart leaves the hash of a part out of the signature where its checksum is in
// it. With TLS the SDK does so by itself. The object's own hash is computed while it
// is read, and in the manifest, which is signed whole.
func (p parts) UploadPart(ctx context.Context, in *s3.UploadPartInput, o ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	if in.ChecksumAlgorithm != "" {
		o = append(o, p.b.knownHash(unsigned))
	}
	return p.Client.UploadPart(ctx, in, o...)
}

// CompleteMultipartUpload says what went wrong in words that may be logged: the
// transfer manager does that by itself.
func (p parts) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, o ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	out, err := p.Client.CompleteMultipartUpload(ctx, in, o...)
	if err != nil {
		err = &scrubbed{printable(p.b.secrets.scrub(reason(err))), err}
	}
	return out, err
}
