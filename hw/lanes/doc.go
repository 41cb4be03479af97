// Package lanes is the one rule by which output channels are dealt to the sixteen lanes of
// coefficients: how many stand side by side in a plane, and which planes follow. Whoever lays
// coefficients out and the array that reads them both go by it.
//
//	lane 0: plane 0, plane 16, ...
//	lane 1: plane 1, plane 17, ...
//
// 224 channels make planes of 14, 768 make planes of 32 and then of 16 where 32 is the most;
// the last fifteen or fewer take a lane each. (Every section hash on record, the 14 among them.)
package lanes
