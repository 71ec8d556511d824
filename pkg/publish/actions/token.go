package actions

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
)

// maxToken bounds the answer with the token.
const maxToken = 1 << 20

// GetIDToken asks GitHub for the job's OIDC token, for an audience or, when that is
// empty, for the default one. The job needs the permission id-token: write.
func (a *Action) GetIDToken(ctx context.Context, audience string) (string, error) {
	address, bearer := a.getenv("ACTIONS_ID_TOKEN_REQUEST_URL"), a.getenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
	if address == "" || bearer == "" {
		return "", fmt.Errorf("actions: this job has no OIDC token: give it the permission id-token: write")
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("actions: ACTIONS_ID_TOKEN_REQUEST_URL is not an address") // the address may hold secrets
	}
	if audience != "" {
		q := u.Query()
		q.Set("audience", audience)
		u.RawQuery = q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", fmt.Errorf("actions: OIDC token: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Accept", "application/json")
	res, err := a.httpClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("actions: OIDC token: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxToken))
	if err != nil {
		return "", fmt.Errorf("actions: OIDC token: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("actions: OIDC token: %s answered %s", u.Host, res.Status)
	}
	var answer struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Value == "" {
		return "", fmt.Errorf("actions: OIDC token: %s answered without one", u.Host)
	}
	return answer.Value, nil
}
