package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// maxListed bounds a listing: a store may answer for ever.
const maxListed = 1_000_000

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.key(name))})
	if err != nil {
		return nil, b.fault("read", name, err)
	}
	return &body{out.Body, b, name}, nil
}

// body is an object that is being read; its errors are the store's.
type body struct {
	from io.ReadCloser
	b    *bucket
	name string
}

func (r *body) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		err = r.b.fault("read", r.name, err)
	}
	return n, err
}

func (r *body) Close() error { return r.from.Close() }

func (b *bucket) Head(ctx context.Context, name string) (Object, error) {
	if err := checkName(name); err != nil {
		return Object{}, err
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String(b.key(name))})
	if err != nil {
		return Object{}, b.fault("looked at", name, err)
	}
	return Object{Name: name, Size: aws.ToInt64(out.ContentLength), SHA256: out.Metadata[metaSHA256]}, nil
}

func (b *bucket) List(ctx context.Context, in string, deep bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := checkName(in); err != nil {
			yield(Object{}, err)
			return
		}
		ask := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(b.key(in) + "/")}
		if !deep {
			ask.Delimiter = aws.String("/")
		}
		seen := 0
		for {
			page, err := b.client.ListObjectsV2(ctx, ask)
			if err != nil {
				yield(Object{}, b.fault("listed", in, err))
				return
			}
			if !b.yieldPage(page, in, deep, yield) {
				return
			}
			seen += len(page.Contents) + len(page.CommonPrefixes)
			next := aws.ToString(page.NextContinuationToken)
			switch {
			case !aws.ToBool(page.IsTruncated):
				return
			case next == "" || next == aws.ToString(ask.ContinuationToken):
				yield(Object{}, b.fault("listed", in, errors.New("the store says that there is more, and not how to get it")))
				return
			case seen >= maxListed:
				yield(Object{}, b.fault("listed", in, fmt.Errorf("more than %d objects", maxListed)))
				return
			}
			ask.ContinuationToken = &next
		}
	}
}

func (b *bucket) yieldPage(page *s3.ListObjectsV2Output, in string, deep bool, yield func(Object, error) bool) bool {
	for _, o := range page.Contents {
		key := aws.ToString(o.Key)
		name, ok := b.nameOf(key, in)
		if !ok || strings.HasSuffix(key, "/") || !deep && strings.Contains(strings.TrimPrefix(name, in+"/"), "/") {
			continue // a folder that a console made, or not what was asked for
		}
		if !yield(Object{Name: name, Size: aws.ToInt64(o.Size)}, nil) {
			return false
		}
	}
	for _, p := range page.CommonPrefixes {
		if name, ok := b.nameOf(aws.ToString(p.Prefix), in); ok && !yield(Object{Name: name, Folder: true}, nil) {
			return false
		}
	}
	return true
}

// tidy gives up the parts of uploads that a killed uploader left: they are no
// objects, but are paid for.
func (b *bucket) tidy(ctx context.Context, in string) (removed int, err error) {
	ask := &s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: aws.String(b.key(in) + "/")}
	for range maxListed / 1000 {
		page, err := b.client.ListMultipartUploads(ctx, ask)
		if code(err) == "NoSuchUpload" { // how some say that there is none
			return removed, nil
		}
		if err != nil {
			return removed, b.fault("searched for unfinished parts", in, err)
		}
		for _, u := range page.Uploads {
			if _, ok := b.nameOf(aws.ToString(u.Key), in); !ok {
				continue
			}
			_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: u.Key, UploadId: u.UploadId})
			switch {
			case err == nil:
				removed++
			case code(err) != "NoSuchUpload":
				return removed, b.fault("rid of unfinished parts", in, err)
			}
		}
		if !aws.ToBool(page.IsTruncated) || aws.ToString(page.NextUploadIdMarker) == aws.ToString(ask.UploadIdMarker) {
			return removed, nil
		}
		ask.KeyMarker, ask.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
	return removed, nil
}
