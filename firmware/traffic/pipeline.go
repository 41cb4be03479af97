package traffic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware/engine"
)

// namesBefore returns the names of the script's first i clients, in their order.
func (s *Script) namesBefore(i int) (list []string) {
	for k := range s.Clients[:i] {
		list = append(list, s.Clients[k].Name)
	}
	return list
}

// indexBefore returns the index of the client with the given name among the first i
// clients, or -1 if there is none.
func (s *Script) indexBefore(i int, name string) int { return slices.Index(s.namesBefore(i), name) }

// connectClients makes the inputs in every client's Reads use the buffers of the outputs
// they name. It then calls the connected programs once more, because their calls spend less
// host time on copies.
func (l *Outcome) connectClients(ctx context.Context) error {
	loaded := make([]*engine.Loaded, len(l.Alone))
	var session *engine.Session
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
			return c.fail(fmt.Errorf("reads requires after, the client whose outputs it reads"))
		}
		from := l.Config.Clients[i].After
		for _, k := range []int{from, i} {
			if err := load(k); err != nil {
				return c.fail(err)
			}
		}
		for _, input := range slices.Sorted(maps.Keys(c.Reads)) {
			if err := loaded[i].Connect(input, loaded[from], c.Reads[input]); err != nil {
				return c.fail(err)
			}
		}
	}
	for i, p := range loaded {
		if p == nil {
			continue
		}
		before := session.Saved().HostCopyBytes
		res, err := p.Call(ctx)
		if err != nil {
			return l.Script.Clients[i].fail(err)
		}
		l.Config.Clients[i].Host.Outside = outsideTime(&l.Options, res.Host)
		l.Saved[i] = session.Saved().HostCopyBytes - before
	}
	return nil
}
