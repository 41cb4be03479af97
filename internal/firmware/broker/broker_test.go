package broker_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/firmware/broker"
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

// TestResidencyIsBoundToIdentity checks that a model is shared only with clients of its
// owner's team and code, regardless of a client's rights.
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

// TestAdaptersShareTheirBase checks that a base model is loaded once for all its adapters,
// and that nothing stays loaded after the last client.
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
}

// Clients are sorted by what they hold.
func TestTiers(t *testing.T) {
	b := broker.New()
	for _, x := range []struct {
		tier, want broker.Tier
		right      string
	}{
		{broker.Unrestricted, broker.Unrestricted, broker.Access}, {broker.Unrestricted, broker.Restricted, broker.AdapterWeight},
		{broker.Unrestricted, broker.Restricted, broker.ModelShare}, {broker.Unrestricted, broker.Restricted, broker.AggressiveSaving},
		{broker.PerUser, broker.PerUser, broker.ModelShare},
	} {
		c, err := b.Connect("c", us, x.tier, broker.Default, broker.Allow, x.right)
		if err != nil || c.Tier != x.want {
			t.Errorf("%s: %v, %v, want %v", x.right, c.Tier, err, x.want)
		}
	}
}

// Memory of a model is unwired while the broker idles, unless an instance opts out or asks
// for no saving; the next turn wires it.
func TestUnwiring(t *testing.T) {
	b := broker.New()
	c := connect(t, b, "c", us, broker.Default, broker.ModelShare)
	open := func(key string, o broker.InstanceOptions) *broker.Instance {
		i, err := c.Open(key, 100, o)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	saving := open("saving", broker.InstanceOptions{PowerSaving: true})
	kept := open("kept", broker.InstanceOptions{PowerSaving: true, KeepWired: true})
	plain := open("plain", broker.InstanceOptions{})
	saving.Submit(func() {})
	if n := b.Idle(); n != 0 {
		t.Errorf("%d bytes unwired with a request waiting", n)
	}
	for b.Turn() {
	}
	if n := b.Idle(); n != 100 || saving.Model.Wired || !kept.Model.Wired || !plain.Model.Wired {
		t.Errorf("%d bytes unwired", n)
	}
	saving.Submit(func() {})
	if b.Turn(); !saving.Model.Wired {
		t.Error("a turn on unwired memory")
	}
}

// A model stays as long as one of its instances is open.
func TestReleaseOfASharedModel(t *testing.T) {
	b := broker.New()
	c := connect(t, b, "c", us, broker.Default, broker.ModelShare)
	var open [2]*broker.Instance
	for k := range open {
		i, err := c.Open("m", 100, broker.InstanceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		open[k] = i
	}
	for k, want := range []int{1, 0} {
		open[k].Release()
		open[k].Release() // again: nothing is left to release
		if n, _ := b.Resident(); n != want {
			t.Errorf("%d models after %d releases, want %d", n, k+1, want)
		}
	}
}

// Requests of one priority go in the order they were made, and each makes room for another.
func TestOldestOfEqualsFirst(t *testing.T) {
	b := broker.New()
	i, err := connect(t, b, "c", us, broker.Default).Open("m", 1, broker.InstanceOptions{QueueDepth: 2})
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	submit := func(n int) bool { return i.Submit(func() { order = append(order, n) }) }
	if !submit(1) || !submit(2) || submit(3) {
		t.Error("a queue of two")
	}
	for n := 3; n < 6; n++ {
		if !b.Turn() || !submit(n) || submit(n) {
			t.Errorf("one turn makes room for one request, not so for %d", n)
		}
	}
	for b.Turn() {
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, order); diff != "" {
		t.Error(diff)
	}
}
