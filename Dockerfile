# The image of the Action: one static program, the roots of trust and the time zones.
# It runs as root, as GitHub demands of container actions, and gives what it writes to
# the workspace's owner. Built twice from one commit its layers are the same.
FROM golang:1.26-bookworm AS build
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-trimpath
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY pkg pkg
COPY schemas schemas
ARG VERSION=dev
ARG SOURCE_DATE_EPOCH=0
# The post step is a name of its own, since GitHub gives it the arguments of the main one.
RUN mkdir -p /out/etc/ssl/certs /out/usr/share /out/tmp \
 && go build -buildvcs=false -ldflags "-s -w -X github.com/org/agentx-action/pkg/run.Version=${VERSION}" -o /out/agentx ./cmd/agentx \
 && ln -s agentx /out/agentx-post \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && cp "$(go env GOROOT)/lib/time/zoneinfo.zip" /out/usr/share/ \
 && chmod 1777 /out/tmp \
 && find /out -exec touch -h -d "@${SOURCE_DATE_EPOCH}" {} +

FROM scratch
ARG VERSION=dev
ARG REVISION=
LABEL org.opencontainers.image.title="AgentX" \
      org.opencontainers.image.description="Replays recorded coding-agent sessions against an LLM engine, compares, and comments on the pull request." \
      org.opencontainers.image.source="https://github.com/org/agentx-action" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out/ /
ENV ZONEINFO=/usr/share/zoneinfo.zip
ENTRYPOINT ["/agentx"]
