package broker

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/firmware/queue"
)

// The entitlements of clients of the broker, its own first.
const (
	Allow             = "com.apple.aned.private.allow"
	Access            = "com.apple.aned.private.ANEAccess.allow"
	AdapterWeight     = "com.apple.aned.private.adapterWeight.allow"
	ModelShare        = "com.apple.aned.private.processModelShare.allow"
	SecondaryCompiler = "com.apple.aned.private.secondaryANECompilerServiceAccess.allow"
	AggressiveSaving  = "com.apple.aned.private.aggressivePowerSaving"
	PurgeAll          = "com.apple.aned.private.modelPurgeInAllPartitions"
	OpenUserClient    = "com.apple.ane.iokit-user-access"                                // the kernel's own gate
	DirectClient      = "com.apple.security.temporary-exception.iokit-user-client-class" // a sandbox exception
	BlessedClient     = "com.apple.security.ts.ane-client"                               // a slot of the trust cache
)

// restricted are the methods' entitlements that put a client in the restricted tier.
var restricted = [...]string{AdapterWeight, ModelShare, AggressiveSaving}

// A Tier is a class of clients: those of a per-user broker, those whose requests pass the
// per-method admission of adapter weights, shared models and aggressive saving, and the
// rest.
type Tier uint8

// The tiers.
const (
	Unrestricted Tier = iota
	Restricted
	PerUser
)

// String names the tier.
func (t Tier) String() string {
	return [...]string{"unrestricted", "restricted", "per-user"}[min(t, PerUser)]
}

// An Identity is a client's code signature.
type Identity struct {
	Team          string
	CodeDirectory string // hash
}

// A QoS is a client's declared quality of service.
type QoS uint8

// The classes, most urgent first. The documents name the argument and that two functions
// map it to a queue and a priority; the classes and the map are ours (assumed).
const (
	RealTime QoS = iota
	UserInteractive
	UserInitiated
	Default
	Utility
	Background
)

// Priority is the program priority of a class: the realtime band for RealTime alone.
func (q QoS) Priority() queue.Priority {
	return [...]queue.Priority{0, 2, 3, 5, 6, 7}[min(q, Background)]
}

// QueueIndex is the task queue of a class.
func (q QoS) QueueIndex() int { return q.Priority().Queue() }

// A DeniedError is a request without the entitlement it takes.
type DeniedError struct {
	Method, Entitlement string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s: the client lacks the entitlement %s", e.Method, e.Entitlement)
}

// A Client is a connection.
type Client struct {
	Name     string
	Identity Identity
	Tier     Tier
	QoS      QoS
	rights   []string
	broker   *Broker
	held     []*Instance
}

// A Model is a resident program.
type Model struct {
	Key       string // content hash
	Owner     Identity
	Instances int
	Bytes     uint64
	Wired     bool // its memory is; the next turn of an instance wires it again
}

// An Instance is a client's use of a model.
type Instance struct {
	Model    *Model
	Adapter  string // of its own weights, empty for the base
	Bytes    uint64 // of the adapter's weights
	client   *Client
	Options  InstanceOptions
	inFlight int
}

// InstanceOptions are the arguments of an instance.
type InstanceOptions struct {
	PowerSaving      bool
	AggressiveSaving bool // takes an entitlement
	KeepWired        bool // opts out of unwiring the model's memory
	QueueDepth       int  // requests in flight, 0 for DefaultDepth
}

// DefaultDepth is the requests that an instance may have in flight (assumed).
const DefaultDepth = 4

// A Broker holds the connections and the resident models. At rest it holds neither.
type Broker struct {
	clients []*Client
	models  map[string]*Model
	turns   []*pending
	served  uint64
}

type pending struct {
	inst *Instance
	prio queue.Priority
	seq  uint64
	run  func()
}

// New returns a broker at rest.
func New() *Broker { return &Broker{models: map[string]*Model{}} }

// Clients is how many connections are open.
func (b *Broker) Clients() int { return len(b.clients) }

// Resident is how many models are held, and their bytes with those of adapters.
func (b *Broker) Resident() (models int, bytes uint64) {
	for _, m := range b.models {
		models++
		bytes += m.Bytes
	}
	for _, c := range b.clients {
		for _, i := range c.held {
			bytes += i.Bytes
		}
	}
	return models, bytes
}

// Idle unwires the memory of models while nobody has a request: those with an instance
// that opted out keep theirs, and those without power saving do (assumed: the documents
// name both arguments of an instance and not when memory is unwired). It returns the bytes
// that it let go of.
func (b *Broker) Idle() (bytes uint64) {
	if len(b.turns) > 0 {
		return 0
	}
	keep := map[*Model]bool{}
	for _, c := range b.clients {
		for _, i := range c.held {
			if o := &i.Options; o.KeepWired || !o.PowerSaving && !o.AggressiveSaving {
				keep[i.Model] = true
			}
		}
	}
	for _, m := range b.models {
		if m.Wired && !keep[m] {
			m.Wired = false
			bytes += m.Bytes
		}
	}
	return bytes
}

// Connect admits a client. The baseline is either access entitlement.
func (b *Broker) Connect(name string, id Identity, t Tier, q QoS, rights ...string) (*Client, error) {
	if !slices.Contains(rights, Allow) && !slices.Contains(rights, Access) {
		return nil, &DeniedError{"connect", Allow}
	}
	if t == Unrestricted && slices.ContainsFunc(restricted[:], func(e string) bool { return slices.Contains(rights, e) }) {
		t = Restricted // the broker sorts its clients by what they hold
	}
	c := &Client{Name: name, Identity: id, Tier: t, QoS: q, rights: slices.Clone(rights), broker: b}
	b.clients = append(b.clients, c)
	return c, nil
}

// Disconnect ends the client and its instances; a model with none left goes.
func (c *Client) Disconnect() {
	for len(c.held) > 0 {
		c.held[0].Release()
	}
	b := c.broker
	b.clients = slices.DeleteFunc(b.clients, func(x *Client) bool { return x == c })
	b.turns = slices.DeleteFunc(b.turns, func(p *pending) bool { return p.inst.client == c })
}

func (c *Client) need(method, entitlement string) error {
	if !slices.Contains(c.rights, entitlement) {
		return &DeniedError{method, entitlement}
	}
	return nil
}

// Open makes an instance of a model, loading it where it is not resident. A resident model
// is attached to only by the team and code-directory hash that own it; sharing between
// processes takes an entitlement.
func (c *Client) Open(key string, bytes uint64, o InstanceOptions) (*Instance, error) {
	if o.AggressiveSaving {
		if err := c.need("create instance", AggressiveSaving); err != nil {
			return nil, err
		}
	}
	m := c.broker.models[key]
	switch {
	case m == nil:
		m = &Model{Key: key, Owner: c.Identity, Bytes: bytes, Wired: true}
		c.broker.models[key] = m
	case m.Owner != c.Identity:
		return nil, &OwnerError{key}
	case !c.holds(m):
		if err := c.need("attach", ModelShare); err != nil {
			return nil, err
		}
	}
	m.Instances++
	i := &Instance{Model: m, client: c, Options: o}
	c.held = append(c.held, i)
	return i, nil
}

func (c *Client) holds(m *Model) bool {
	return slices.ContainsFunc(c.held, func(i *Instance) bool { return i.Model == m })
}

// An OwnerError is an attach to a model of another signature.
type OwnerError struct{ Key string }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("model %s is resident for another team or code-directory hash", e.Key)
}

// OpenAdapter makes an instance of a resident base model with weights of its own.
func (c *Client) OpenAdapter(key, adapter string, bytes uint64, o InstanceOptions) (*Instance, error) {
	if err := c.need("create instance with weights", AdapterWeight); err != nil {
		return nil, err
	}
	m := c.broker.models[key]
	if m == nil {
		return nil, fmt.Errorf("base model %s is not resident", key)
	}
	i, err := c.Open(key, m.Bytes, o)
	if err == nil {
		i.Adapter, i.Bytes = adapter, bytes
	}
	return i, err
}

// Release ends the instance. A model that nobody uses is dropped.
func (i *Instance) Release() {
	c := i.client
	at := slices.Index(c.held, i)
	if at < 0 {
		return
	}
	c.held = slices.Delete(c.held, at, at+1)
	if i.Model.Instances--; i.Model.Instances == 0 {
		delete(c.broker.models, i.Model.Key)
	}
}

// Depth is how many requests the instance may have in flight now: its queue depth, one
// where another client waits.
func (i *Instance) Depth() int {
	for _, p := range i.client.broker.turns {
		if p.inst.client != i.client {
			return 1
		}
	}
	return cmp.Or(i.Options.QueueDepth, DefaultDepth)
}

// Submit asks for a turn. It is false where the instance has as many in flight as Depth
// allows.
func (i *Instance) Submit(run func()) bool {
	if i.inFlight >= i.Depth() {
		return false
	}
	b := i.client.broker
	b.served++
	i.inFlight++
	b.turns = append(b.turns, &pending{i, i.client.QoS.Priority(), b.served, run})
	return true
}

// Turn runs the most urgent request, the oldest of equals, and reports whether there was
// one. One request is in flight at a time.
func (b *Broker) Turn() bool {
	if len(b.turns) == 0 {
		return false
	}
	at := 0
	for k, p := range b.turns {
		if c := cmp.Or(cmp.Compare(p.prio, b.turns[at].prio), cmp.Compare(p.seq, b.turns[at].seq)); c < 0 {
			at = k
		}
	}
	p := b.turns[at]
	b.turns = slices.Delete(b.turns, at, at+1)
	p.inst.inFlight--
	p.inst.Model.Wired = true
	p.run()
	return true
}
