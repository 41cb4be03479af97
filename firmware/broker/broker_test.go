package broker_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware/broker"
)

var us = broker.Identity{Team: "T", CodeDirectory: "aa"}

func connect(t *testing.T, b *broker.Broker, name string, id broker.Identity, q broker.QoS, rights ...string) *broker.Client {
	t.Helper()
	c, err := b.Connect(name, id, broker.Unrestricted, q, append(rights, broker.Allow)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func denied(t *testing.T, err error, entitlement string) {
	t.Helper()
	var d *broker.DeniedError
	if !errors.As(err, &d) || d.Entitlement != entitlement {
		t.Errorf("%v, want a refusal for want of %s", err, entitlement)
	}
}

// Each gate, closed and open.
func TestGates(t *testing.T) {
	b := broker.New()
	_, err := b.Connect("nobody", us, broker.Unrestricted, broker.Default)
	denied(t, err, broker.Allow)
	plain := connect(t, b, "plain", us, broker.Default)
	if _, err := plain.Open("m", 100, broker.InstanceOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = plain.Open("m", 100, broker.InstanceOptions{AggressiveSaving: true})
	denied(t, err, broker.AggressiveSaving)
	_, err = plain.OpenAdapter("m", "a", 10, broker.InstanceOptions{})
	denied(t, err, broker.AdapterWeight)
	other := connect(t, b, "other", us, broker.Default)
	_, err = other.Open("m", 100, broker.InstanceOptions{})
	denied(t, err, broker.ModelShare)
	all := connect(t, b, "all", us, broker.Default, broker.ModelShare, broker.AggressiveSaving, broker.AdapterWeight)
	if _, err := all.Open("m", 100, broker.InstanceOptions{AggressiveSaving: true}); err != nil {
		t.Error(err)
	}
}

// A model is shared only with its owner's team and code, whatever rights a client has.
func TestResidencyIsBoundToIdentity(t *testing.T) {
	b := broker.New()
	owner := connect(t, b, "owner", us, broker.Default)
	if _, err := owner.Open("m", 100, broker.InstanceOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []broker.Identity{{Team: "T", CodeDirectory: "bb"}, {Team: "U", CodeDirectory: "aa"}} {
		c := connect(t, b, "stranger", id, broker.Default, broker.ModelShare)
		var e *broker.OwnerError
		if _, err := c.Open("m", 100, broker.InstanceOptions{}); !errors.As(err, &e) {
			t.Errorf("%+v: %v", id, err)
		}
	}
}

// A base model is loaded once however many adapters stand on it, and nothing stays when
// the last client goes.
func TestAdaptersShareTheirBase(t *testing.T) {
	b := broker.New()
	c := connect(t, b, "c", us, broker.Default, broker.AdapterWeight)
	if _, err := c.OpenAdapter("m", "a", 10, broker.InstanceOptions{}); err == nil {
		t.Error("an adapter without its base")
	}
	if _, err := c.Open("m", 1000, broker.InstanceOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"a", "b", "c"} {
		if _, err := c.OpenAdapter("m", a, 10, broker.InstanceOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, bytes := b.Resident(); n != 1 || bytes != 1030 {
		t.Errorf("%d models, %d bytes", n, bytes)
	}
	c.Disconnect()
	if n, bytes := b.Resident(); n != 0 || bytes != 0 || b.Clients() != 0 {
		t.Errorf("at rest: %d models, %d bytes, %d clients", n, bytes, b.Clients())
	}
}

func TestTurns(t *testing.T) {
	b := broker.New()
	open := func(name string, q broker.QoS) *broker.Instance {
		i, err := connect(t, b, name, us, q).Open(name, 1, broker.InstanceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	low, high := open("low", broker.Background), open("high", broker.RealTime)
	var order []string
	for range broker.DefaultDepth {
		if !low.Submit(func() { order = append(order, "low") }) {
			t.Error("a lone client is held back")
		}
	}
	if low.Submit(func() {}) {
		t.Error("more in flight than the depth")
	}
	if !high.Submit(func() { order = append(order, "high") }) {
		t.Error("a client with nothing in flight is refused under contention")
	}
	if high.Submit(func() {}) || low.Depth() != 1 {
		t.Error("the depth is not lowered under contention")
	}
	for b.Turn() {
	}
	if diff := cmp.Diff([]string{"high", "low", "low", "low", "low"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestQoSOrder(t *testing.T) {
	last := -1
	for q := broker.RealTime; q <= broker.Background; q++ {
		if p := int(q.Priority()); p <= last {
			t.Errorf("class %d: priority %d", q, p)
		} else {
			last = p
		}
		if q.Priority().Realtime() != (q == broker.RealTime) {
			t.Errorf("class %d in the wrong band", q)
		}
		if q.QueueIndex() != q.Priority().Queue() {
			t.Errorf("class %d: queue %d", q, q.QueueIndex())
		}
	}
	for e, n := range map[string]int{broker.Allow: 18, broker.Access: 14, broker.AdapterWeight: 5, broker.ModelShare: 4, broker.SecondaryCompiler: 1, broker.PurgeAll: 0} {
		if broker.Holders(e) != n {
			t.Errorf("%s: %d holders", e, broker.Holders(e))
		}
	}
}
