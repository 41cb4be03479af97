package anesim

import (
	"fmt"

	"anesim/internal/cache"
	"anesim/loader"
	"anesim/loader/network/bundle"
)

// cacheKey returns the key under which the cache stores the model's programs. It is computed from
// the network's structure and weights, the options that affect lowering, and the chip's generation.
// If sizes is true, the programs have no weights.
func (m *Model) cacheKey(o *Options, sizes bool) (*cache.Key, error) {
	structure, weights := cache.NewHasher(), cache.NewHasher()
	if err := bundle.WriteStructure(m.net, structure); err != nil {
		return nil, err
	}
	if err := bundle.WriteWeights(m.net, weights); err != nil {
		return nil, err
	}
	return &cache.Key{
		Segments: []cache.Segment{{Structure: structure.Sum(), Weights: weights.Sum()}},
		Source:   o.Cache.Source,
		Options:  fmt.Sprintf("kind=%v seed=%d sizes=%t memories=%+v target=%v placement=%q", m.kind, o.Seed, sizes, o.Memories(), m.target(o), o.Cache.Placement),
		Platform: fmt.Sprintf("h13 subtype=%d", uint32(loader.SubtypeM1)),
	}, nil
}

// lowerWithCache stores the model's programs in low. It takes them from the cache if they are
// there. Otherwise it calls make, which lowers the model and stores the programs in low, and adds
// them to the cache.
func (m *Model) lowerWithCache(low *loweredModel, o *Options, make func() error) error {
	key, err := m.cacheKey(o, low.sizes)
	if err != nil {
		return err
	}
	made := false
	e, err := o.Cache.Do(key, func(content []byte) error {
		if made {
			return nil // keep the new programs instead of decoding them again
		}
		programs, reasons, err := bundle.Decode(m.net, content)
		if err == nil {
			low.programs, low.reasons = programs, reasons
		}
		return err
	}, func() ([]byte, error) {
		made = true
		if err := make(); err != nil {
			return nil, err
		}
		return bundle.Encode(m.net, low.programs, low.reasons)
	})
	if err != nil {
		return err
	}
	low.entry = &e
	return nil
}
