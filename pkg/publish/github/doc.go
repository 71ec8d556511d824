// Package github tells GitHub what a run measured and what changed.
package github
