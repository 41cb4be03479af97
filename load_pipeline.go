package anesim

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// names are those of the clients before one.
func (s *LoadScript) names(i int) (list []string) {
	for k := range s.Clients[:i] {
		list = append(list, s.Clients[k].Name)
	}
	return list
}

// before finds a client before another, -1 where there is none.
func (s *LoadScript) before(i int, name string) int { return slices.Index(s.names(i), name) }

// join puts what one client's program leaves where the next one reads it: the host's part
// of both loses the copies.
func (l *Load) join(ctx context.Context) error {
	loaded := make([]*Loaded, len(l.Alone))
	var session *Session
	load := func(i int) error {
		if loaded[i] != nil {
			return nil
		}
		var err error
		if session == nil {
			if session, err = NewSession(l.Options); err != nil {
				return err
			}
		}
		loaded[i], err = session.Load(ctx, l.Alone[i].Model)
		return err
	}
	for i := range l.Script.Clients {
		c := &l.Script.Clients[i]
		if len(c.Reads) == 0 {
			continue
		}
		fail := func(err error) error { return &LoadError{c.Line, c.Name, err.Error(), err} }
		if c.After == "" {
			return fail(fmt.Errorf("reads: want after, the client whose outputs it reads"))
		}
		from := l.Config.Clients[i].After
		for _, k := range []int{from, i} {
			if err := load(k); err != nil {
				return fail(err)
			}
		}
		for _, input := range slices.Sorted(maps.Keys(c.Reads)) {
			if err := loaded[i].Connect(input, loaded[from], c.Reads[input]); err != nil {
				return fail(err)
			}
		}
	}
	for i, p := range loaded {
		if p == nil {
			continue
		}
		before := session.saved
		res, err := p.Call(ctx)
		if err != nil {
			return &LoadError{l.Script.Clients[i].Line, l.Script.Clients[i].Name, err.Error(), err}
		}
		l.Config.Clients[i].Host.Outside = outside(&l.Options, res.Programs[0].Host)
		l.Saved[i] = session.saved - before
	}
	return nil
}
