package store

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// secrets are the keys and tokens that were in use, so that an answer which repeats
// one (a proxy's page, a store's debugging text) does not carry it into a log.
type secrets struct {
	mu     sync.Mutex
	values []string
}

// minSecret keeps short words, as a test's, from blotting out whole messages.
const minSecret = 4

func (s *secrets) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) >= minSecret && !slices.Contains(s.values, v) {
			s.values = append(s.values, v)
		}
	}
	// The longest first: one may hold another.
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
}

func (s *secrets) scrub(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, "***")
	}
	return text
}

// watched notes the credentials that it hands on, and says what to do where there
// are none.
type watched struct {
	from    aws.CredentialsProvider
	secrets *secrets
}

func (w *watched) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if w.from == nil {
		return aws.Credentials{}, &credentialsError{reason: "there are no credentials", advice: adviceNoCredentials}
	}
	c, err := w.from.Retrieve(ctx)
	if err != nil {
		return c, credentialsFault(ctx, err)
	}
	w.secrets.add(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	return c, nil
}
