package docker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/network"
)

// site is where an engine is put and how it is reached.
type site struct {
	port int // on which it listens
	// host: it is on the host's network. Else it has a network of its own, which
	// our container joins, or its port is published.
	host bool
	join string // our own container, "" to publish
	// address to reach it at; "" is its name, or the published port.
	address string
}

// loopback is where ports are published: nobody else on the network may use them.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// site settles where the engine is put, given our own container, if any.
func (d *Driver) site(me *self) (site, error) {
	if me != nil && me.onHost {
		me = nil // the host's ports are ours
	}
	if d.config.Network == HostNetwork {
		return d.hostSite(me)
	}
	s := site{port: d.config.Port}
	if s.port == 0 {
		s.port = DefaultPort
	}
	if me != nil {
		s.join = me.id
	}
	return s, nil
}

// hostSite puts it on the host's network. From a container of ours that is seen at
// the gateway of its network only.
func (d *Driver) hostSite(me *self) (site, error) {
	s := site{port: d.config.Port, host: true, address: loopback.String()}
	taken := listening
	if me != nil {
		if !me.gateway.IsValid() {
			return s, errors.New("network host: the container in which agentx runs has no way to its host; leave network out")
		}
		s.address, taken = me.gateway.String(), answers
	}
	if s.port != 0 {
		if taken(s.address, s.port) {
			return s, fmt.Errorf("network host: port %d is taken on this host: stop who listens there, or leave port out", s.port)
		}
		return s, nil
	}
	for range 50 {
		// Below the ports that the kernel gives to connections by itself.
		if port := 20000 + rand.IntN(10000); !taken(s.address, port) {
			s.port = port
			return s, nil
		}
	}
	return s, errors.New("network host: found no free port from 20000 to 29999")
}

// listening tells whether a port of this host is taken, on any address.
func listening(_ string, port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return true
	}
	_ = l.Close()
	return false
}

// answers tells whether somebody takes connections there.
func answers(address string, port int) bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(address, strconv.Itoa(port)), time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// tcp names a port as Docker does.
func tcp(port int) network.Port {
	p, _ := network.PortFrom(uint16(port), network.TCP) // TCP is a protocol it knows
	return p
}
