package store

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	managertypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
)

// How an object is sent: in one request below partsFrom, and in parts, a few at once, from
// there on. A store without TLS is near, and its line doesn't break: there one request
// is quicker up to about where AWS advises to consider parts.
const (
	partsFrom     = 16 << 20
	partsFromNear = 128 << 20
	partSize      = 8 << 20
	partsAtOnce   = 4
	signedUpTo    = 1 << 20          // bytes of an object whose SHA-256 is signed beside its CRC-32C
	abortWithin   = 10 * time.Second // for the end of an upload that is given up
	probeUpTo     = 64 << 10
	conflicts     = 5 // answers that another upload of the same key is going on
)

// metaSHA256 is the name under which an object keeps its hash.
const metaSHA256 = "agentx-sha256"

// Put creates an object with If-None-Match. A store that ignores that, or of which
// that isn't known yet, is asked beforehand whether there is an object, and afterwards
// whether it is ours; and every store for one that is sent in parts, since some ignore
// it only there.
func (b *bucket) Put(ctx context.Context, name string, from Source) error {
	if err := checkName(name); err != nil {
		return err
	}
	asked := from.Size >= b.partsFrom.Load() || b.noCreateOnly.Load() || !b.probed.Load()
	if asked {
		switch _, err := b.Head(ctx, name); {
		case err == nil:
			return b.fault("written", name, ErrExists)
		case !errors.Is(err, ErrNotFound):
			return err
		}
	}
	from, err := b.withCRC(ctx, from)
	if err != nil {
		return b.wrote(ctx, name, err)
	}
	if err := b.putKnown(ctx, name, from); err != nil {
		return err
	}
	if from.Size <= probeUpTo && b.probed.CompareAndSwap(false, true) {
		if err := b.probe(ctx, name, from); err != nil {
			return err
		}
	}
	if asked || from.Size >= b.partsFrom.Load() {
		return b.isOurs(ctx, name, from)
	}
	return nil
}

// withCRC is the source with the checksum that goes ahead of it.
func (b *bucket) withCRC(ctx context.Context, from Source) (Source, error) {
	if from.Size >= b.partsFrom.Load() || b.noChecksums.Load() {
		return from, nil
	}
	return from.withCRC(ctx)
}

// probe finds out whether the store keeps create-only: the same object again must be
// refused. Where it isn't, the object was replaced by itself.
func (b *bucket) probe(ctx context.Context, name string, from Source) error {
	switch err := b.putKnown(ctx, name, from); {
	case errors.Is(err, ErrExists):
		return nil
	case err != nil:
		b.probed.Store(false) // nothing is known yet
		return err
	}
	b.noCreateOnly.Store(true)
	return nil
}

func (b *bucket) isOurs(ctx context.Context, name string, from Source) error {
	there, err := b.Head(ctx, name)
	if err != nil {
		return err
	}
	if there.Size != from.Size || there.SHA256 != "" && there.SHA256 != from.SHA256 {
		return b.fault("written", name, fmt.Errorf("%w: another uploader wrote it at the same time, and the store keeps no create-only", ErrExists))
	}
	return nil
}

// putKnown sends an object by what is known of the store. What a store refuses as not
// implemented is left out from then on, the least first that helps.
func (b *bucket) putKnown(ctx context.Context, name string, from Source) error {
	err := b.send(ctx, name, from)
	if refused(err) {
		checksums, condition := b.noChecksums.Load(), b.noCreateOnly.Load()
		for _, without := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			if checksums && !without[0] || condition && !without[1] || without == [2]bool{checksums, condition} {
				continue
			}
			b.noChecksums.Store(without[0])
			b.noCreateOnly.Store(without[1])
			again := b.send(ctx, name, from)
			if !refused(again) {
				if without[1] {
					b.probed.Store(true)
				}
				return b.wrote(ctx, name, again)
			}
		}
		b.noChecksums.Store(checksums) // neither was the reason
		b.noCreateOnly.Store(condition)
	}
	return b.wrote(ctx, name, err)
}

func (b *bucket) wrote(ctx context.Context, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the transfer manager hides it behind what came of it
		err = ctx.Err()
	}
	return b.fault("written", name, err)
}

// refused reports an answer that can mean that the store does not know something we
// sent along. What stores say there differs widely.
func refused(err error) bool {
	switch status(err) {
	case http.StatusBadRequest, http.StatusLengthRequired, http.StatusNotImplemented:
	default:
		return false
	}
	if damaged(err) {
		return false
	}
	switch code(err) {
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "NoSuchUpload", "EntityTooLarge", "KeyTooLongError",
		"RequestTimeout", "IncompleteBody": // the line broke
		return false
	}
	return true
}

// errUnended is a refusal of an object as there already that never shows.
var errUnended = errors.New("the store says that it is there, and does not show it: another upload of it was cut off, or doesn't end; upload again later, or with another attempt or cell")

// send makes one attempt, which the client may repeat by itself. It waits for another
// uploader of the same key.
func (b *bucket) send(ctx context.Context, name string, from Source) error {
	for n := 1; ; n++ {
		whole := from.Size < b.partsFrom.Load()
		attempt := b.sendParts
		if whole {
			attempt = b.sendWhole
		}
		err := attempt(ctx, name, from)
		early := status(err) == http.StatusPreconditionFailed
		switch {
		case early && b.shows(ctx, name):
			return ErrExists
		case n < conflicts && whole && from.Size > partSize && status(err) == http.StatusRequestEntityTooLarge:
			b.partsFrom.Store(partSize) // a proxy before the store takes no larger ones
			if _, err := b.Head(ctx, name); err == nil {
				return ErrExists // which some stores don't keep for parts
			}
			continue
		case n >= conflicts && early:
			return errUnended
		case n >= conflicts || !contended(err):
			return err
		}
		select {
		case <-time.After(time.Duration(n) * 500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		if early && b.shows(ctx, name) {
			return ErrExists
		}
	}
}

// contended reports an answer that another uploader of the same key can bring about.
func contended(err error) bool {
	switch status(err) {
	case http.StatusConflict: // another upload of the key goes on
		return true
	case http.StatusPreconditionFailed: // it is about to be there: see shows
		return true
	}
	return code(err) == "NoSuchUpload" // another uploader of this run tidied our parts away
}

// shows tells whether an object that is said to be there can be seen. A store that
// writes down what an object is before the object (versitygw with a sidecar) refuses a
// second one earlier than it shows the first, which may still come to nothing. Who may
// not look is not told otherwise.
func (b *bucket) shows(ctx context.Context, name string) bool {
	_, err := b.Head(ctx, name)
	return !errors.Is(err, ErrNotFound)
}

func (b *bucket) condition() *string {
	if b.noCreateOnly.Load() {
		return nil
	}
	return aws.String("*")
}

// sendWhole sends an object in one request. Its CRC-32C goes ahead of it, and the store
// refuses what is not of it.
func (b *bucket) sendWhole(ctx context.Context, name string, from Source) error {
	if from.Size == 0 { // the SDK doesn't read it
		if _, err := io.Copy(io.Discard, from.reader(ctx)); err != nil {
			return err
		}
	}
	in := &s3.PutObjectInput{
		Bucket: &b.name, Key: aws.String(b.key(name)), Body: from.reader(ctx), ContentLength: &from.Size, ContentType: contentType(name), IfNoneMatch: b.condition(),
		Metadata: map[string]string{metaSHA256: from.SHA256}, SSEKMSKeyId: word(b.options.KMSKeyID),
		ServerSideEncryption: s3types.ServerSideEncryption(b.options.SSE), StorageClass: s3types.StorageClass(b.options.StorageClass),
	}
	sum := from.SHA256
	if !b.noChecksums.Load() && from.CRC32C != "" {
		crc, err := hex.DecodeString(from.CRC32C)
		if err != nil {
			return err
		}
		in.ChecksumCRC32C = aws.String(base64.StdEncoding.EncodeToString(crc))
		if from.Size > signedUpTo {
			sum = unsigned
		}
	}
	_, err := b.client.PutObject(ctx, in, knownHash(sum))
	return err
}

// knownHash signs a body by the hash that is known of it, which the SDK would compute
// again without TLS.
func knownHash(sum string) func(*s3.Options) {
	return func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("agentxPayloadHash",
				func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					return next.HandleInitialize(v4.SetPayloadHash(ctx, sum), in)
				}), middleware.After)
		})
	}
}

func (b *bucket) plainHTTP() bool { return strings.HasPrefix(b.endpoint, "http://") }

func (b *bucket) sendParts(ctx context.Context, name string, from Source) error {
	in := &transfermanager.UploadObjectInput{
		Bucket: &b.name, Key: aws.String(b.key(name)), Body: from.reader(ctx), ContentLength: &from.Size, ContentType: contentType(name), IfNoneMatch: b.condition(),
		Metadata: map[string]string{metaSHA256: from.SHA256}, SSEKMSKeyID: word(b.options.KMSKeyID),
		ServerSideEncryption: managertypes.ServerSideEncryption(b.options.SSE), StorageClass: managertypes.StorageClass(b.options.StorageClass),
	}
	_, err := b.manager.UploadObject(ctx, in, func(o *transfermanager.Options) {
		if b.noChecksums.Load() {
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			return
		}
		o.ChecksumAlgorithm = managertypes.ChecksumAlgorithmCrc32c
	})
	return err
}

func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// contentType lets a browser show what it can. The table of the machine is not
// asked: the same run is to be the same object everywhere.
func contentType(name string) *string {
	types := map[string]string{
		".json": "application/json", ".jsonl": "application/x-ndjson", ".csv": "text/csv; charset=utf-8", ".html": "text/html; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".zst": "application/zstd", ".log": "text/plain; charset=utf-8", ".md": "text/markdown; charset=utf-8",
	}
	if t, ok := types[path.Ext(name)]; ok {
		return &t
	}
	return aws.String("application/octet-stream")
}
