package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

const schemeS3 = "s3://"

// What stands in for options that are not given.
const (
	defaultRegion   = "us-east-1"
	defaultAttempts = 6
	defaultRetryFor = 2 * time.Minute
)

// bucket is a Store in S3, or in what speaks like it.
type bucket struct {
	name, prefix string // prefix without slashes at its ends; may be empty
	region       string
	endpoint     string // empty is AWS
	options      Options

	client  *s3.Client
	manager *transfermanager.Client
	secrets *secrets
	// partsFrom is the size from which an object is sent in parts. It goes down where
	// something before the store takes no requests of that size.
	partsFrom atomic.Int64

	begun sync.Map // ids of uploads in parts that are not complete, and their keys

	// What the store turned out not to know. It is found out by the first object
	// and holds from then on.
	noChecksums  atomic.Bool // refuses checksums of the newer kinds
	noCreateOnly atomic.Bool // ignores or refuses If-None-Match
	probed       atomic.Bool // noCreateOnly is known
}

var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$`)

// splitS3 takes s3://bucket/prefix apart.
func splitS3(ref string) (name, prefix string, err error) {
	name, prefix, _ = strings.Cut(strings.TrimPrefix(ref, schemeS3), "/")
	prefix = strings.Trim(prefix, "/")
	switch {
	case strings.Contains(name, "@"): // keys in it are not to be repeated
		return "", "", errors.New("store s3://…@…: keys don't belong into the reference; give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case !bucketName.MatchString(name):
		return "", "", fmt.Errorf("store %q: no name of a bucket; want s3://bucket/prefix", printable(ref))
	case prefix != "" && checkName(prefix) != nil:
		return "", "", fmt.Errorf("store %q: no prefix; want s3://bucket/prefix, without . and .. in it", printable(ref))
	}
	return name, prefix, nil
}

func (o *Options) check() error {
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
			return errors.New("the S3 endpoint is no address; want https://host or http://host:port, without keys in it")
		}
	}
	switch o.PathStyle {
	case "", PathStyleAuto, PathStyleOn, PathStyleOff:
	default:
		return fmt.Errorf("path style %q: want auto, on or off", printable(string(o.PathStyle)))
	}
	switch o.SSE {
	case "", "AES256", "aws:kms", "aws:kms:dsse":
	default:
		return fmt.Errorf("encryption %q: want AES256, aws:kms or aws:kms:dsse", printable(o.SSE))
	}
	if o.KMSKeyID != "" && !strings.HasPrefix(o.SSE, "aws:kms") {
		return errors.New("a KMS key is named, so the encryption must be aws:kms or aws:kms:dsse")
	}
	return nil
}

func openS3(ctx context.Context, ref string, o Options) (Store, error) {
	name, prefix, err := splitS3(ref)
	if err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	b := &bucket{name: name, prefix: prefix, options: o, secrets: new(secrets)}
	if err := b.connect(ctx); err != nil {
		return nil, b.fault("opened", "", err)
	}
	return b, nil
}

// connect settles how the store is spoken to. Files of settings are read, but
// nothing is sent.
func (b *bucket) connect(ctx context.Context) error {
	o := &b.options
	client := httpClient(o.Proxy, b.secrets)
	load := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client), config.WithLogger(logging.Nop{}), config.WithClientLogMode(0),
		config.WithRetryer(func() aws.Retryer { return newRetryer(o.MaxAttempts, o.RetryFor) }),
		// The manifest's hashes are what an answer is held against.
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	if o.RoleToAssume != "" {
		cfg.Credentials = assumeByToken(&cfg, client, o, b.secrets)
	}
	cfg.Credentials = &watched{from: cfg.Credentials, secrets: b.secrets}
	if cfg.RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired { // the user's own setting
		b.noChecksums.Store(true)
	}
	b.client = s3.NewFromConfig(cfg, func(s *s3.Options) {
		if o.Endpoint != "" {
			s.BaseEndpoint = aws.String(strings.TrimSuffix(o.Endpoint, "/"))
		}
		if s.BaseEndpoint != nil {
			b.endpoint = *s.BaseEndpoint
		}
		s.UsePathStyle = o.PathStyle == PathStyleOn || o.PathStyle != PathStyleOff && s.BaseEndpoint != nil
		// What is sent with a checksum is asked for by each request.
		s.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})
	b.region = cfg.Region
	b.partsFrom.Store(partsFrom)
	if b.plainHTTP() {
		b.partsFrom.Store(partsFromNear)
	}
	b.manager = transfermanager.New(parts{b.client, b}, func(t *transfermanager.Options) {
		t.PartSizeBytes, t.MultipartUploadThreshold = partSize, partSize // smaller ones never come to it
		t.Concurrency = partsAtOnce
		t.FailTimeout = abortWithin
	})
	return nil
}

func (b *bucket) String() string {
	if b.prefix == "" {
		return schemeS3 + b.name
	}
	return schemeS3 + b.name + "/" + b.prefix
}

// key is the key of an object in the bucket.
func (b *bucket) key(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

// nameOf is the name of the object with a key. A store may list what was not asked
// for.
func (b *bucket) nameOf(key, in string) (string, bool) {
	rest, ok := strings.CutPrefix(key, b.key(in)+"/")
	name := in + "/" + strings.TrimSuffix(rest, "/")
	return name, ok && fs.ValidPath(name)
}

// notes says what the store turned out not to do.
func (b *bucket) notes() (out []string) {
	if b.noCreateOnly.Load() {
		out = append(out, b.String()+" does not keep If-None-Match: what is there was asked for before and after writing instead, which two uploaders of one key at the same instant could get past.")
	}
	if b.noChecksums.Load() {
		out = append(out, b.String()+" is sent no checksums of S3's newer kinds; the manifest's hashes hold all the same.")
	}
	return out
}
