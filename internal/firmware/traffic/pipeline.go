package traffic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware/engine"
)

// clientNamesBefore returns the names of the script's first i clients, in their order.
func (s *Script) clientNamesBefore(i int) (list []string) {
	for k := range s.Clients[:i] {
		list = append(list, s.Clients[k].Name)
	}
	return list
}

// clientIndexBefore returns the index of the client with the given name among the first i clients,
// or -1 if there is none.
func (s *Script) clientIndexBefore(i int, name string) int {
	return slices.Index(s.clientNamesBefore(i), name)
}

// connectClients makes each input in a client's Reads use the buffer of the output that it names.
// It then calls the connected programs again, because they now spend less host time on copies.
func (l *Outcome) connectClients(ctx context.Context) error {
	loaded := make([]*engine.Loaded, len(l.Alone))
	var session *engine.Session
	// Programs must be in one session to share buffers; a script without "reads" needs none.
	load := func(i int) error {
		if loaded[i] != nil {
			return nil
		}
		var err error
		if session == nil {
			if session, err = engine.New(l.Options); err != nil {
				return err
			}
		}
		loaded[i], err = session.Load(l.Alone[i].Program)
		return err
	}
	for i := range l.Script.Clients {
		c := &l.Script.Clients[i]
		if len(c.Reads) == 0 {
			continue
		}
		if c.After == "" {
			return c.wrapError(fmt.Errorf(`"reads" requires "after", the name of the client to read from`))
		}
		from := l.Config.Clients[i].After
		for _, k := range []int{from, i} {
			if err := load(k); err != nil {
				return c.wrapError(err)
			}
		}
		for _, input := range slices.Sorted(maps.Keys(c.Reads)) {
			if err := loaded[i].Connect(input, loaded[from], c.Reads[input]); err != nil {
				return c.wrapError(err)
			}
		}
	}
	for i, p := range loaded {
		if p == nil {
			continue
		}
		// The call that was timed alone copied the inputs that are shared now.
		before := session.Saved().HostCopyBytes
		res, err := p.Call(ctx)
		if err != nil {
			return l.Script.Clients[i].wrapError(err)
		}
		l.Config.Clients[i].Host.Outside = l.Options.Host.Path(res.Host).Outside
		l.Saved[i] = session.Saved().HostCopyBytes - before
	}
	return nil
}
