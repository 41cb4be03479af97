package traffic

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware/engine"
)

// names are those of the clients before one.
func (s *Script) names(i int) (list []string) {
	for k := range s.Clients[:i] {
		list = append(list, s.Clients[k].Name)
	}
	return list
}

// before finds a client before another, -1 where there is none.
func (s *Script) before(i int, name string) int { return slices.Index(s.names(i), name) }

// join puts what one client's program leaves where the next one reads it: the host's part
// of both loses the copies.
func (l *Outcome) join(ctx context.Context) error {
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
			return c.fail(fmt.Errorf("reads: want after, the client whose outputs it reads"))
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
		l.Config.Clients[i].Host.Outside = outside(&l.Options, res.Host)
		l.Saved[i] = session.Saved().HostCopyBytes - before
	}
	return nil
}
