package store

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
// with its name is lost could not be given up. It is remembered until it is complete.
func (p parts) CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, o ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	out, err := p.Client.CreateMultipartUpload(ctx, in, o...)
	if err == nil {
		p.b.begun.Store(aws.ToString(out.UploadId), aws.ToString(in.Key))
	}
	return out, err
}

// UploadPart leaves the hash of a part out of the signature where its checksum is in
// it. With TLS the SDK does so by itself. The object is held against the manifest's hash
// while it is read, and by who fetches it.
func (p parts) UploadPart(ctx context.Context, in *s3.UploadPartInput, o ...func(*s3.Options)) (*s3.UploadPartOutput, error) {
	if in.ChecksumAlgorithm != "" && p.b.plainHTTP() {
		o = append(o, knownHash(unsigned))
	}
	return p.Client.UploadPart(ctx, in, o...)
}

// CompleteMultipartUpload says what went wrong in words that may be logged: the
// transfer manager does that by itself.
func (p parts) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, o ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	out, err := p.Client.CompleteMultipartUpload(ctx, in, o...)
	if err != nil {
		return out, &scrubbed{printable(p.b.secrets.scrub(reason(err))), err}
	}
	p.b.begun.Delete(aws.ToString(in.UploadId))
	return out, nil
}

// How often an upload is given up, and the time in between for the server to end what it
// was at.
const (
	quits     = 10
	settleFor = 200 * time.Millisecond
)

// quit gives up our uploads that were begun and not completed. Each has been given up as
// it failed, but a part that the server was still writing then can outlive that, as S3's
// description of AbortMultipartUpload warns: so it is done until the server knows the
// upload no more.
func (b *bucket) quit(ctx context.Context) (err error) {
	b.begun.Range(func(id, key any) bool {
		upload, name := id.(string), key.(string)
		for range quits {
			_, err = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: &name, UploadId: &upload})
			if err != nil {
				break
			}
			select {
			case <-time.After(settleFor):
			case <-ctx.Done():
			}
		}
		if err != nil && code(err) != "NoSuchUpload" {
			err = b.fault("rid of unfinished parts", name, err)
			return false
		}
		err = nil
		b.begun.Delete(id)
		return true
	})
	return err
}
