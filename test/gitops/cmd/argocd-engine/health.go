package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The time limit of Argo CD for a health script.
const scriptTimeout = time.Second

// healthScript runs a health script of Argo CD for the objects of one kind. Objects of other kinds have the health that
// the engine itself computes.
type healthScript struct {
	kind   string
	script string
}

func loadHealthScript(kind, path string) (*healthScript, error) {
	script, err := os.ReadFile(path)
	return &healthScript{kind, string(script)}, err
}

func (h *healthScript) GetResourceHealth(object *unstructured.Unstructured) (*health.HealthStatus, error) {
	if object.GetKind() != h.kind {
		return nil, nil
	}
	state, err := newState()
	if err != nil {
		return nil, err
	}
	defer state.Close()
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(h.script); err != nil {
		return nil, err
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("the health script returns a %s, not a table", state.Get(-1).Type())
	}
	return &health.HealthStatus{
		Status:  health.HealthStatusCode(lua.LVAsString(answer.RawGetString("status"))),
		Message: lua.LVAsString(answer.RawGetString("message")),
	}, nil
}

// newState returns an interpreter with the libraries that Argo CD loads by default, except its own library os.
func newState() (*lua.LState, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			state.Close()
			return nil, err
		}
	}
	return state, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case bool:
		return lua.LBool(typed)
	case int64:
		return lua.LNumber(typed)
	case float64:
		return lua.LNumber(typed)
	case string:
		return lua.LString(typed)
	case []any:
		list := state.CreateTable(len(typed), 0)
		for _, item := range typed {
			list.Append(toLua(state, item))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(typed))
		for key, item := range typed {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
