package broker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"anesim/firmware/queue"
)

// Entitlements of the broker's clients. A caller's code signature grants them.
const (
	Allow             = "com.apple.aned.private.allow"
	Access            = "com.apple.aned.private.ANEAccess.allow"
	AdapterWeight     = "com.apple.aned.private.adapterWeight.allow"
	ModelShare        = "com.apple.aned.private.processModelShare.allow"
	SecondaryCompiler = "com.apple.aned.private.secondaryANECompilerServiceAccess.allow"
	AggressiveSaving  = "com.apple.aned.private.aggressivePowerSaving"
	PurgeAll          = "com.apple.aned.private.modelPurgeInAllPartitions"
	OpenUserClient    = "com.apple.ane.iokit-user-access"                                // checked by the kernel
	DirectClient      = "com.apple.security.temporary-exception.iokit-user-client-class" // a sandbox exception
	BlessedClient     = "com.apple.security.ts.ane-client"                               // a slot of the trust cache
)

// restrictedRights lists the entitlements that put a client in the Restricted tier.
var restrictedRights = [...]string{AdapterWeight, ModelShare, AggressiveSaving}

// A Tier is the class in which the broker puts a client. The model records the tier but does not
// use it.
type Tier uint8

// Classes of clients.
const (
	Unrestricted Tier = iota
	Restricted
	PerUser
)

// String returns the name of the tier, such as "restricted".
func (t Tier) String() string {
	return [...]string{"unrestricted", "restricted", "per-user"}[min(t, PerUser)]
}

// An Identity is the part of a client's code signature that the broker compares: the team and the
// hash of the code directory.
type Identity struct {
	Team          string
	CodeDirectory string // hash
}

// A QoS is the quality of service that a client declares for its requests. It determines their
// priority.
type QoS uint8

// Classes of service, most urgent first. The priorities are assumed: the documents only say that two
// functions map an argument to a queue and a priority, and that a default call has class 21 and
// priority 5.
const (
	RealTime QoS = iota
	UserInteractive
	UserInitiated
	Default
	Utility
	Background
)

// classes holds the name, the priority and the number of each class. The numbers are those of the
// public header for threads, which has no class RealTime.
var classes = [...]struct {
	name     string
	priority queue.Priority
	number   uint32
}{
	{"realtime", 0, 0}, {"interactive", 2, 33}, {"initiated", 3, 25}, {"default", 5, 21}, {"utility", 6, 17}, {"background", 7, 9},
}

// QoSNames returns the names of the classes, most urgent first.
func QoSNames() (names []string) {
	for _, c := range classes {
		names = append(names, c.name)
	}
	return names
}

// ParseQoS returns the class with the given name, such as "default", or number, such as "21", and
// whether there is one.
func ParseQoS(text string) (QoS, bool) {
	for q, c := range classes {
		if c.name == text || c.number > 0 && strconv.FormatUint(uint64(c.number), 10) == text {
			return QoS(q), true
		}
	}
	return 0, false
}

// Priority returns the priority of requests with quality of service q. Only RealTime has a priority
// that is reserved for realtime programs.
func (q QoS) Priority() queue.Priority { return classes[min(q, Background)].priority }

// Class returns the number of the class in the public header, or 0 for RealTime.
func (q QoS) Class() uint32 { return classes[min(q, Background)].number }

// QueueIndex returns the index of the task queue for requests with quality of service q.
func (q QoS) QueueIndex() int { return q.Priority().Queue() }

// A DeniedError reports that a client lacks the entitlement that a request requires.
type DeniedError struct {
	Method, Entitlement string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s: client lacks the entitlement %s", e.Method, e.Entitlement)
}

// A Client is a connection to a [Broker].
type Client struct {
	Name     string
	Identity Identity
	Tier     Tier
	QoS      QoS
	rights   []string
	broker   *Broker
	held     []*Instance
}

// A Model is a program that the broker keeps in memory.
type Model struct {
	Key       string // content hash
	Owner     Identity
	Instances int
	Bytes     uint64
	Wired     bool // whether its memory is wired (locked in RAM); each request wires it again
}

// An Instance is a client's handle to a [Model], through which the client submits requests.
type Instance struct {
	Model    *Model
	Adapter  string // name of its own weights, "" for the base model's
	Bytes    uint64 // size of the adapter's weights
	client   *Client
	Options  InstanceOptions
	inFlight int
}

// InstanceOptions configures an [Instance].
type InstanceOptions struct {
	PowerSaving      bool
	AggressiveSaving bool // requires an entitlement
	KeepWired        bool // opts out of unwiring the model's memory
	QueueDepth       int  // largest number of requests in flight; 0 means DefaultDepth
}

// DefaultDepth is the default number of requests that an instance may have in flight. The
// value is assumed.
const DefaultDepth = 4

// A Broker models the system service between clients and the driver: it keeps models in
// memory and decides which client's request comes next.
type Broker struct {
	clients []*Client
	models  map[string]*Model
	turns   []*turn
	served  uint64
}

// A turn is a request that waits until the broker runs it.
type turn struct {
	inst *Instance
	prio queue.Priority
	seq  uint64
	run  func()
}

// New returns a broker without clients or models.
func New() *Broker { return &Broker{models: map[string]*Model{}} }

// Clients returns the number of connected clients.
func (b *Broker) Clients() int { return len(b.clients) }

// Holds reports whether the model with the given key is in memory.
func (b *Broker) Holds(key string) bool { return b.models[key] != nil }

// Resident returns the number of models in memory and their total size in bytes, including adapter
// weights.
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

// Idle unwires models, so that their memory is no longer locked in RAM, and returns the number of
// bytes unwired. It does nothing if requests are pending. A model stays wired if one of its
// instances sets KeepWired, or sets neither PowerSaving nor AggressiveSaving. This rule is assumed.
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

// Connect adds a client with the given name, identity, tier, quality of service and entitlements
// (rights). It returns a *[DeniedError] unless rights contains [Allow] or [Access]. A client with
// one of the entitlements [AdapterWeight], [ModelShare] and [AggressiveSaving] becomes Restricted
// if t is Unrestricted.
func (b *Broker) Connect(name string, id Identity, t Tier, q QoS, rights ...string) (*Client, error) {
	if !slices.Contains(rights, Allow) && !slices.Contains(rights, Access) {
		return nil, &DeniedError{"connect", Allow}
	}
	if t == Unrestricted && slices.ContainsFunc(restrictedRights[:], func(e string) bool { return slices.Contains(rights, e) }) {
		t = Restricted // the broker assigns the tier by entitlements
	}
	c := &Client{Name: name, Identity: id, Tier: t, QoS: q, rights: slices.Clone(rights), broker: b}
	b.clients = append(b.clients, c)
	return c, nil
}

// Disconnect closes the connection, drops the client's pending requests and releases its instances.
// The broker removes models that have no instances left.
func (c *Client) Disconnect() {
	for len(c.held) > 0 {
		c.held[0].Release()
	}
	b := c.broker
	b.clients = slices.DeleteFunc(b.clients, func(x *Client) bool { return x == c })
	b.turns = slices.DeleteFunc(b.turns, func(x *turn) bool { return x.inst.client == c })
}

func (c *Client) requireEntitlement(method, entitlement string) error {
	if !slices.Contains(c.rights, entitlement) {
		return &DeniedError{method, entitlement}
	}
	return nil
}

// Open returns a new instance of the model with the given key. If the model is not in memory yet,
// Open adds it with the given size in bytes. Otherwise, the instance shares the model.
//
// Open returns an *[OwnerError] if a client with another identity loaded the model. It returns a
// *[DeniedError] if the model is in memory and this is the client's first instance of it, but the
// client lacks the entitlement [ModelShare]. It also does so if o.AggressiveSaving is set and the
// client lacks [AggressiveSaving].
func (c *Client) Open(key string, bytes uint64, o InstanceOptions) (*Instance, error) {
	if o.AggressiveSaving {
		if err := c.requireEntitlement("create instance", AggressiveSaving); err != nil {
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
	case !c.hasInstance(m):
		if err := c.requireEntitlement("attach", ModelShare); err != nil {
			return nil, err
		}
	}
	m.Instances++
	i := &Instance{Model: m, client: c, Options: o}
	c.held = append(c.held, i)
	return i, nil
}

func (c *Client) hasInstance(m *Model) bool {
	return slices.ContainsFunc(c.held, func(i *Instance) bool { return i.Model == m })
}

// An OwnerError reports a request for a model that was loaded by a client with another code
// signature.
type OwnerError struct{ Key string }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("model %s is resident for another team or code-directory hash", e.Key)
}

// OpenAdapter opens an instance with additional weights, called an adapter, for the model with the
// given key. The weights have the name adapter and the given size in bytes. OpenAdapter returns a
// *[DeniedError] if the client lacks the entitlement [AdapterWeight], an error if the model is not
// in memory, or any error from [Client.Open].
func (c *Client) OpenAdapter(key, adapter string, bytes uint64, o InstanceOptions) (*Instance, error) {
	if err := c.requireEntitlement("create instance with weights", AdapterWeight); err != nil {
		return nil, err
	}
	m := c.broker.models[key]
	if m == nil {
		return nil, fmt.Errorf("base model %q is not in memory; open it first", key)
	}
	i, err := c.Open(key, m.Bytes, o)
	if err == nil {
		i.Adapter, i.Bytes = adapter, bytes
	}
	return i, err
}

// Release ends the instance. The broker removes the model if this was its last instance.
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

// Depth returns how many requests the instance may have in flight.
func (i *Instance) Depth() int {
	return LimitDepth(i.Options.QueueDepth, slices.ContainsFunc(i.client.broker.turns, func(x *turn) bool { return x.inst.client != i.client }))
}

// LimitDepth returns how many requests an instance with the given queue depth may have in flight, where
// 0 means DefaultDepth. Under contention, which means while another client has pending requests, it
// is 1.
func LimitDepth(depth int, contended bool) int {
	if contended {
		return 1
	}
	return cmp.Or(depth, DefaultDepth)
}

// Submit queues a request; [Broker.Turn] later performs it by calling run. Submit returns false if
// the instance already has [Instance.Depth] requests in flight.
func (i *Instance) Submit(run func()) bool {
	if i.inFlight >= i.Depth() {
		return false
	}
	b := i.client.broker
	b.served++
	i.inFlight++
	b.turns = append(b.turns, &turn{i, i.client.QoS.Priority(), b.served, run})
	return true
}

// Turn runs the most urgent pending request, or the oldest of several equally urgent ones. It
// returns false if no requests are pending.
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
