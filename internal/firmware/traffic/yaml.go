package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/spelling"
)

// MaxText is the maximum size of a script in bytes.
const MaxText = 1 << 20

// maxClients is the maximum number of clients in a script.
const maxClients = 1 << 10

// ReadScript parses a script in YAML, such as:
//
//	host: macos-air          # preset; none by default
//	duration: 2s
//	clients:
//	  - {name: camera, layer: conv cin=64 h=56 w=56 cout=64 k=3, priority: 2, arrival: fixed, rate: 30}
//	  - {name: batch, model: net.onnx, dim: "batch=4", priority: 6, arrival: back-to-back, threads: 2}
//	  - {name: detect, layer: sigmoid c=64 h=56 w=56, priority: 2, after: camera, reads: {x: y}}
//
// Other keys of the script are chip, seed, in_flight, preemption, max_calls and power. Other keys of a client are
// streams, qos, queue_depth, adapter_of with bytes, keep_wired, and bind, values of run-time parameters that calls take in turn, as in {k: [32, 64]}. The error is a *[ScriptError] that gives the line.
func ReadScript(data []byte) (*Script, error) {
	if len(data) > MaxText {
		return nil, &ScriptError{Line: 1, What: fmt.Sprintf("script is longer than %d bytes", MaxText)}
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &ScriptError{Line: 1, What: `script is empty; want a mapping with "duration" and "clients"`}
	} else if err != nil {
		return nil, newYAMLError(err)
	}
	if len(doc.Content) != 1 {
		return nil, &ScriptError{Line: 1, What: `malformed script; want a mapping with "duration" and "clients"`}
	}
	s := new(Script)
	root := doc.Content[0]
	err := readKeys(root, "the script", map[string]func(*yaml.Node) error{
		"chip":      func(n *yaml.Node) error { return readNameValue(n, "chip", &s.Chip, chip.Names()) },
		"host":      func(n *yaml.Node) error { return readNameValue(n, "host", &s.Host, engine.HostNames()) },
		"duration":  func(n *yaml.Node) error { return readDuration(n, &s.Duration) },
		"seed":      func(n *yaml.Node) error { return readSeed(n, &s.Seed) },
		"in_flight": func(n *yaml.Node) error { return readCount(n, &s.InFlight, 1, 1<<16) },
		"max_calls": func(n *yaml.Node) error { return readCount(n, &s.MaxCalls, 1, mostMaxCalls) },
		"preemption": func(n *yaml.Node) error {
			var name string
			if err := readNameValue(n, "preemption", &name, queue.Preemptions()); err != nil {
				return err
			}
			// The name is one of those that ParsePreemption knows.
			s.Preemption, _ = queue.ParsePreemption(name)
			return nil
		},
		"power": func(n *yaml.Node) (err error) {
			var list string
			if err = readTextValue(n, "power", &list); err == nil {
				if s.Power, err = firmware.ParsePowerPolicy(list); err != nil {
					return newNodeError(n, "%v", err)
				}
			}
			return err
		},
		"clients": s.readClients,
	})
	switch {
	case err != nil:
		return nil, err
	case s.Duration == 0:
		return nil, newNodeError(root, `missing "duration"; want a time such as 2s`)
	case len(s.Clients) == 0:
		return nil, newNodeError(root, `missing "clients"; want at least one`)
	}
	return s, nil
}

func newYAMLError(err error) error {
	f := &ScriptError{Line: 1, What: err.Error(), Err: err}
	var e *yaml.LoadError
	if errors.As(err, &e) {
		f.Line, f.What = max(1, e.Mark.Line), e.Message
	}
	f.What = strings.ReplaceAll(f.What, "\n", " ")
	return f
}

func newNodeError(n *yaml.Node, format string, v ...any) error {
	return &ScriptError{Line: max(1, n.Line), What: fmt.Sprintf(format, v...)}
}

// readKeys calls read[key] with the value of each key in the mapping n. It returns an error if a
// key is unknown or repeated; the error calls the mapping what.
func readKeys(n *yaml.Node, what string, read map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return newNodeError(n, "invalid value for %s; want a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		f, known := read[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode || !known:
			names := slices.Sorted(maps.Keys(read))
			return newNodeError(k, "unknown key %q in %s; want %s%s", k.Value, what, strings.Join(names, ", "), spelling.Suggest(k.Value, names))
		case seen[k.Value]:
			return newNodeError(k, "duplicate key %q", k.Value)
		}
		seen[k.Value] = true
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Script) readClients(n *yaml.Node) error {
	switch {
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		return newNodeError(n, `malformed "clients"; want a list of at least one client`)
	case len(n.Content) > maxClients:
		return newNodeError(n, "too many clients: %d; want at most %d", len(n.Content), maxClients)
	}
	for _, item := range n.Content {
		// Values are checked where they are read, for their line; what depends on several keys follows,
		// since the keys may come in any order.
		c := ScriptClient{Line: item.Line}
		var priority, bytes int
		hasPriority := false
		err := readKeys(item, "a client", map[string]func(*yaml.Node) error{
			"name":  func(n *yaml.Node) error { return readTextValue(n, "name", &c.Name) },
			"model": func(n *yaml.Node) error { return readTextValue(n, "model", &c.Model) },
			"dim":   func(n *yaml.Node) error { return readTextValue(n, "dim", &c.Dim) },
			"layer": func(n *yaml.Node) error { return readTextValue(n, "layer", &c.Layer) },
			"priority": func(n *yaml.Node) error {
				hasPriority = true
				return readCount(n, &priority, 0, queue.Queues-1)
			},
			"qos": func(n *yaml.Node) error {
				if err := readTextValue(n, "qos", &c.QoS); err != nil {
					return err
				}
				if _, ok := broker.ParseQoS(c.QoS); !ok {
					return newNodeError(n, "unknown value %q; want one of %s, or 33, 25, 21, 17, 9%s", c.QoS, strings.Join(broker.QoSNames(), ", "), spelling.Suggest(c.QoS, broker.QoSNames()))
				}
				return nil
			},
			"queue_depth": func(n *yaml.Node) error { return readCount(n, &c.QueueDepth, 1, 1<<10) },
			"adapter_of":  func(n *yaml.Node) error { return readTextValue(n, "adapter_of", &c.AdapterOf) },
			"bytes":       func(n *yaml.Node) error { return readCount(n, &bytes, 1, 1<<40) },
			"keep_wired": func(n *yaml.Node) error {
				if n.Value != "true" && n.Value != "false" {
					return newNodeError(n, "invalid value %q; want true or false", n.Value)
				}
				c.KeepWired = n.Value == "true"
				return nil
			},
			"arrival": func(n *yaml.Node) error {
				return readNameValue(n, "arrival", &c.Arrival, []string{"back-to-back", "fixed", "poisson"})
			},
			"after":   func(n *yaml.Node) error { return readTextValue(n, "after", &c.After) },
			"reads":   func(n *yaml.Node) error { return readConnections(n, &c.Reads) },
			"bind":    func(n *yaml.Node) error { return readBindings(n, &c.Bind) },
			"rate":    func(n *yaml.Node) error { return readRate(n, &c.Rate) },
			"threads": func(n *yaml.Node) error { return readCount(n, &c.Threads, 1, 1<<10) },
			"streams": func(n *yaml.Node) error { return readCount(n, &c.Streams, 1, 1<<10) },
		})
		if err != nil {
			return err
		}
		c.Priority = uint8(priority)
		if c.Name == "" {
			c.Name = fmt.Sprintf("client %d", len(s.Clients)+1)
		}
		if c.After != "" && c.Arrival != "" {
			return newNodeError(item, `client %q: "after" and "arrival" are mutually exclusive`, c.Name)
		}
		if c.After != "" {
			c.Arrival = string(After)
		}
		switch {
		case c.QoS != "" && hasPriority:
			return newNodeError(item, `client %q: "qos" and "priority" are mutually exclusive`, c.Name)
		case (c.AdapterOf == "") != (bytes == 0):
			return newNodeError(item, `client %q: "adapter_of" and "bytes", the size of the adapter's weights, require each other`, c.Name)
		case c.AdapterOf != "" && (c.Model != "" || c.Layer != "" || c.Dim != "" || len(c.Bind) > 0):
			return newNodeError(item, `client %q: a client with "adapter_of" has the model of that client, and no "model", "layer", "dim" or "bind"`, c.Name)
		// Only an earlier client, so that no client adapts itself, or another one in a circle.
		case c.AdapterOf != "":
			k := s.clientIndexBefore(len(s.Clients), c.AdapterOf)
			if k < 0 {
				return newNodeError(item, `client %q: unknown client %q in "adapter_of"; want an earlier client%s`, c.Name, c.AdapterOf, spelling.Suggest(c.AdapterOf, s.clientNamesBefore(len(s.Clients))))
			}
			b := &s.Clients[k]
			c.AdapterBytes, c.Model, c.Dim, c.Layer, c.Bind = uint64(bytes), b.Model, b.Dim, b.Layer, b.Bind
		}
		// A rate or threads that the arrival ignores would look as if they had an effect.
		timed := c.Arrival == "fixed" || c.Arrival == "poisson"
		switch {
		case (c.Model == "") == (c.Layer == ""):
			return newNodeError(item, `client %q: exactly one of "model" and "layer" is required`, c.Name)
		case len(c.Bind) > 0 && c.Model == "":
			return newNodeError(item, `client %q: "bind" requires "model"`, c.Name)
		case c.Dim != "" && c.Model == "":
			return newNodeError(item, `client %q: "dim" requires "model"`, c.Name)
		case timed && c.Rate == 0:
			return newNodeError(item, `client %q: arrival %q requires "rate"`, c.Name, c.Arrival)
		case c.After != "" && c.Rate != 0:
			return newNodeError(item, `client %q: "after" and "rate" are mutually exclusive`, c.Name)
		case !timed && c.Rate != 0:
			return newNodeError(item, `client %q: "rate" requires arrival "fixed" or "poisson"`, c.Name)
		case (timed || c.After != "") && c.Threads != 0:
			return newNodeError(item, `client %q: "threads" requires arrival "back-to-back"`, c.Name)
		}
		s.Clients = append(s.Clients, c)
	}
	return nil
}

// readTextValue stores the text value of a key in *to.
func readTextValue(n *yaml.Node, key string, to *string) error {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return newNodeError(n, "invalid value for %q; want a string or a number", key)
	}
	*to = n.Value
	return nil
}

// readConnections decodes the value of the key reads of a client into *to. It is a nonempty mapping
// from inputs of the client to the outputs whose buffers they share.
func readConnections(n *yaml.Node, to *map[string]string) error {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return newNodeError(n, `malformed "reads"; want a mapping from inputs to outputs of the client in "after"`)
	}
	*to = map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		var in, out string
		if err := readTextValue(n.Content[i], "reads", &in); err != nil {
			return err
		}
		if err := readTextValue(n.Content[i+1], "reads", &out); err != nil {
			return err
		}
		(*to)[in] = out
	}
	return nil
}

// maxTurns is the largest number of values that a run-time parameter takes in turn. Each is run once.
const maxTurns = 1 << 10

// readBindings decodes the value of the key bind of a client into *to: a nonempty mapping from names
// of run-time parameters to a value or a list of values. All lists have the same length.
func readBindings(n *yaml.Node, to *map[string][]uint64) error {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return newNodeError(n, `malformed "bind"; want a mapping from run-time parameters to values, such as {k: [32, 64]}`)
	}
	*to = map[string][]uint64{}
	longest := 1
	for i := 0; i+1 < len(n.Content); i += 2 {
		var name string
		if err := readTextValue(n.Content[i], "bind", &name); err != nil {
			return err
		}
		if _, twice := (*to)[name]; twice {
			return newNodeError(n.Content[i], "duplicate parameter %q", name)
		}
		list := []*yaml.Node{n.Content[i+1]}
		if n.Content[i+1].Kind == yaml.SequenceNode {
			list = n.Content[i+1].Content
		}
		if len(list) == 0 || len(list) > maxTurns {
			return newNodeError(n.Content[i], "parameter %q has %d values; want 1 to %d", name, len(list), maxTurns)
		}
		for _, item := range list {
			v, err := strconv.ParseUint(item.Value, 0, 64)
			if item.Kind != yaml.ScalarNode || err != nil {
				return newNodeError(item, "invalid value %q of parameter %q; want a number", item.Value, name)
			}
			(*to)[name] = append((*to)[name], v)
		}
		longest = max(longest, len(list))
	}
	// Lists advance together, one element a call, so their lengths must agree; a single value holds
	// for all calls. Sorted, so that the same script always gives the same message.
	for _, name := range slices.Sorted(maps.Keys(*to)) {
		if k := len((*to)[name]); k != 1 && k != longest {
			return newNodeError(n, "parameter %q has %d values; want 1 or %d, as many as the others", name, k, longest)
		}
	}
	return nil
}

func readNameValue(n *yaml.Node, key string, to *string, known []string) error {
	if err := readTextValue(n, key, to); err != nil {
		return err
	}
	for _, k := range known {
		if k == *to {
			return nil
		}
	}
	return newNodeError(n, "unknown value %q; want one of %s%s", *to, strings.Join(known, ", "), spelling.Suggest(*to, known))
}

func readDuration(n *yaml.Node, to *time.Duration) error {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d <= 0 {
		return newNodeError(n, "invalid duration %q; want a positive duration such as 500ms", n.Value)
	}
	if longest := time.Duration(clock.Longest); d > longest {
		return newNodeError(n, "duration %v is too long; want at most %v", d, longest)
	}
	*to = d
	return nil
}

func readSeed(n *yaml.Node, to *uint64) error {
	v, err := strconv.ParseUint(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || v == 0 {
		return newNodeError(n, "invalid seed %q; want a positive integer", n.Value)
	}
	*to = v
	return nil
}

func readCount(n *yaml.Node, to *int, least, most int) error {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < least || v > most {
		return newNodeError(n, "invalid number %q; want %d to %d", n.Value, least, most)
	}
	*to = v
	return nil
}

func readRate(n *yaml.Node, to *float64) error {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(v > 0) || math.IsInf(v, 0) {
		return newNodeError(n, "invalid rate %q; want a positive number of calls per second", n.Value)
	}
	*to = v
	return nil
}
