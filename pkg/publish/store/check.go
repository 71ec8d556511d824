package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Check says what is wrong with a reference and with options, as far as it shows
// without asking anybody: hours of measuring are not to end in a misspelt address.
func Check(ref string, o Options) error {
	scheme, _, ok := strings.Cut(ref, "://")
	switch {
	case ref == "":
		return errors.New("the store has no name; give s3://bucket/prefix or a folder")
	case IsRemote(ref):
		name, _, err := splitS3(ref)
		if err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return fmt.Errorf("store %s%s: %w", schemeS3, name, err)
		}
	case ok:
		return fmt.Errorf("store %q: %s:// is not known; give s3://bucket/prefix or a folder", printable(scheme), printable(scheme))
	}
	return nil
}

// credentialsWithin bounds the search for credentials: its last place is the machine's
// metadata service, which many machines have none of.
const credentialsWithin = 5 * time.Second

// CheckCredentials says why there are no credentials for a store, as far as that can be
// known ahead. The store itself is not asked. Those of a role to assume come when they
// are needed.
func CheckCredentials(ctx context.Context, ref string, o Options) error {
	if !IsRemote(ref) || o.RoleToAssume != "" {
		return nil
	}
	s, err := Open(ctx, ref, o)
	if err != nil {
		return err
	}
	b := s.(*bucket)
	ctx, cancel := context.WithTimeout(ctx, credentialsWithin)
	defer cancel()
	_, err = b.client.Options().Credentials.Retrieve(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s: no credentials were found within %v; %s", b, credentialsWithin, adviceNoCredentials)
	}
	return b.fault("opened", "", err)
}
