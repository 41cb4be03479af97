package scripts

import (
	"context"
	"fmt"
	"strings"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/firmware/traffic"
)

// A Load is the outcome of a script in which several clients share one engine. Alone holds the
// result of each client's program when it runs alone.
type Load struct {
	*traffic.Outcome
	Alone []*anesim.Result   // one for each client, in the order of the script
	Turns [][]*anesim.Result // for each client, one for each of the sizes that its calls have in turn
}

// RunClients runs the clients of a script on one engine. It first runs the program of each client
// alone, and then all clients together. If a client names a model, RunClients calls open for it.
// The function open must give dimensions the sizes that the client states.
//
// The error is a *[traffic.ScriptError] or the error of ctx.
func RunClients(ctx context.Context, s *traffic.Script, open func(*traffic.ScriptClient) (*anesim.Model, error)) (*Load, error) {
	alone := map[*engine.Result]*anesim.Result{}
	out, err := s.Run(ctx, func(ctx context.Context, c *traffic.ScriptClient, o engine.Options) (*engine.Result, error) {
		res, err := runClientAlone(ctx, c, anesim.Options{Chip: o.Chip, Host: o.Host, Power: o.Power, Bind: o.Bind}, open)
		if err != nil {
			return nil, err
		}
		p := &res.Programs[0].Result
		alone[p] = res
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	l := &Load{Outcome: out}
	for _, turns := range out.Turns {
		var list []*anesim.Result
		for _, p := range turns {
			list = append(list, alone[p])
		}
		l.Alone, l.Turns = append(l.Alone, list[0]), append(l.Turns, list)
	}
	return l, nil
}

// runClientAlone runs a client's model once. It returns an error unless the model is a single
// program whose layers are all modelled.
func runClientAlone(ctx context.Context, c *traffic.ScriptClient, o anesim.Options, open func(*traffic.ScriptClient) (*anesim.Model, error)) (*anesim.Result, error) {
	var m *anesim.Model
	var err error
	switch words := strings.Fields(c.Layer); {
	case (c.Model == "") == (c.Layer == ""):
		return nil, fmt.Errorf("client has model %q and layer %q; want exactly one", c.Model, c.Layer)
	case c.Model != "":
		m, err = open(c)
	case len(words) == 0:
		return nil, fmt.Errorf("empty layer; want an operation and its keys")
	default:
		m, err = anesim.Layer(words[0], words[1:]...)
	}
	if err != nil {
		return nil, err
	}
	// The simulation repeats this one result for every call, so the model must be such that all calls are
	// alike.
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	switch n := len(res.Programs); {
	case len(res.Missing()) > 0:
		return nil, fmt.Errorf("layer %q is not modelled: %s", res.Missing()[0].Layer.Name, res.Missing()[0].Reason)
	case n != 1:
		return nil, fmt.Errorf("model %s has %d programs; want only one", m.Name(), n)
	case res.Stages() > 0:
		return nil, fmt.Errorf("model %s has layers on the host; want all layers on the engine", m.Name())
	case len(res.Report.Faults) > 0:
		return nil, fmt.Errorf("device fault: %v", res.Report.Faults[0])
	}
	return res, nil
}
