import type { KubeObject } from 'controller-runtime/client';
import { fieldAt, isRecord, type UnknownRecord } from 'controller-runtime/json';
import { CONTROL_PLANE_GROUP } from '../../api/external/index.ts';
import {
  API_VERSION,
  KIND,
  PAUSED_ANNOTATION,
  RECORD_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../api/v1beta2/index.ts';
import type { Tags } from '../../pkg/fargate/tags/tag-keys.ts';
import { type Objects, stored, withChange, withDeletion } from './api-server.ts';
import { type Aws, ELSEWHERE, arnOfRole, busyProfile, EKS_CLUSTER, REGION, withProfile, withRole } from './aws.ts';
import { CLUSTER, NAMESPACE, NO_MEMORY } from './reconcile.ts';
import { type Action, type Fault, released, type Scenario } from './transitions.ts';
import { NOW, once } from './time.ts';
import { CLUSTER_PATH, CONTROL_PLANE_PATH, pathOf, type World } from './world.ts';

type Spec = Readonly<Record<string, unknown>>;

const metadataOf = (name: string) => ({
  name,
  namespace: NAMESPACE,
  uid: `uid-of-${name}`,
  resourceVersion: '',
  generation: 1,
});

const REFERENCE = { apiGroup: CONTROL_PLANE_GROUP, kind: 'AWSManagedControlPlane', name: 'prod-control-plane' };
const NETWORK = { subnets: [{ id: 'subnet-0a', isPublic: false }] };
const CLUSTER_OBJECTS: Objects = {
  [CLUSTER_PATH]: stored({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { ...metadataOf(CLUSTER), finalizers: ['cluster.cluster.x-k8s.io'] },
    spec: { controlPlaneRef: REFERENCE },
  }),
  [CONTROL_PLANE_PATH]: stored({
    apiVersion: `${CONTROL_PLANE_GROUP}/v1beta2`,
    kind: REFERENCE.kind,
    metadata: {
      ...metadataOf(REFERENCE.name),
      labels: { 'cluster.x-k8s.io/cluster-name': CLUSTER },
      ownerReferences: [
        { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', name: CLUSTER, uid: `uid-of-${CLUSTER}` },
      ],
      finalizers: ['awsmanagedcontrolplane'],
    },
    spec: { region: REGION, eksClusterName: EKS_CLUSTER, network: NETWORK },
    status: { ready: true },
  }),
};

const SPEC: Spec = { clusterName: CLUSTER, selectors: [{ namespace: 'web' }] };

const creates = (name: string, spec: Spec = SPEC, labels?: Readonly<Record<string, string>>): Action => ({
  label: `a user creates ${name}`,
  apply: (world) =>
    world.objects[pathOf(name)] === undefined
      ? withNew(world, name, labels === undefined ? {} : { labels }, spec)
      : undefined,
});

function withNew(world: World, name: string, metadata: UnknownRecord, spec: unknown): World {
  const created = world.ledger.created + 1;
  const object = stored({
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: {
      ...metadata,
      ...metadataOf(name),
      uid: `uid-${created}`,
      creationTimestamp: `2026-01-0${name === 'web' ? 1 : 2}T00:00:00Z`,
    },
    spec,
  });
  return released(
    { ...world, objects: { ...world.objects, [pathOf(name)]: object }, ledger: { ...world.ledger, created } },
    world.objects,
  );
}

/** Returns an action that changes an object, if it exists. */
function changes(
  label: string,
  path: string,
  patch: (object: KubeObject) => Readonly<Record<string, unknown>> | undefined,
): Action {
  const changed = once((object: KubeObject) => {
    const change = patch(object);
    return change && withChange({ [path]: object }, path, change)[path];
  });
  return {
    label,
    apply: (world) => {
      const object = world.objects[path];
      const after = object && changed(object);
      const isSame = after?.metadata.resourceVersion === object?.metadata.resourceVersion;
      return after === undefined || isSame ? undefined : { ...world, objects: { ...world.objects, [path]: after } };
    },
  };
}

const isLiving = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;
const isProvisioned = (object: KubeObject): boolean =>
  fieldAt(fieldAt(object['status'], 'initialization'), 'provisioned') === true;

/**
 * Returns an action that changes the spec, if the CRD permits it: after the provisioning, the immutable fields can
 * change only with updateStrategy Replace.
 */
const edits = (name: string, label: string, spec: Spec): Action =>
  changes(`a user changes ${label} of ${name}`, pathOf(name), (object) => {
    const isMutable = Object.keys(spec).every((field) => field === 'additionalTags' || field === 'deletionPolicy');
    const isReplaced = fieldAt(fieldAt(object['spec'], 'updateStrategy'), 'type') === 'Replace';
    return isLiving(object) && (isMutable || isReplaced || !isProvisioned(object)) ? { spec } : undefined;
  });

function deletes(name: string, path = pathOf(name)): Action {
  const deleted = once((object: KubeObject) => withDeletion({ [path]: object }, path)[path]);
  return {
    label: `a user deletes ${name}`,
    apply: (world) => {
      const { [path]: object, ...others } = world.objects;
      if (object === undefined || !isLiving(object)) return undefined;
      const after = deleted(object);
      return released(
        { ...world, objects: after === undefined ? others : { ...others, [path]: after } },
        world.objects,
      );
    },
  };
}

const pauses = (name: string): readonly Action[] =>
  [['pauses', ''] as const, ['ends the pause of', null] as const].map(([does, value]) =>
    changes(`a user ${does} ${name}`, pathOf(name), () => ({
      metadata: { annotations: { [PAUSED_ANNOTATION]: value } },
    })),
  );

const pausesCluster: readonly Action[] = [
  changes('a user pauses the Cluster', CLUSTER_PATH, () => ({ spec: { paused: true } })),
  changes('a user ends the pause of the Cluster', CLUSTER_PATH, () => ({ spec: { paused: null } })),
];

const deletesCluster = deletes('the Cluster', CLUSTER_PATH);

/**
 * Moves the objects to another management cluster with another manager. All objects except the Cluster lose their
 * status and deletionTimestamp.
 */
const moves: Action = {
  label: 'clusterctl moves the Cluster',
  apply: (world) => {
    if (Object.values(world.objects).some((object) => object?.kind === 'Cluster' && !isLiving(object)))
      return undefined;
    let { created } = world.ledger;
    const objects = Object.fromEntries(
      Object.entries(world.objects).flatMap(([path, object]) => {
        if (object === undefined) return [];
        if (object.kind === 'Cluster') return [[path, object]];
        const { status: _status, ...rest } = object;
        const { deletionTimestamp: _deletion, ...metadata } = object.metadata;
        return [[path, stored({ ...rest, metadata: { ...metadata, uid: `uid-${++created}`, generation: 1 } })]];
      }),
    );
    return {
      ...world,
      objects,
      ledger: { ...world.ledger, created },
      managers: world.managers.map(() => ({ memory: NO_MEMORY, cache: objects, asleep: [], reconcile: undefined })),
    };
  },
};

/** A restored object has the metadata and the spec of the backup, and no status. */
const backups = (name: string): readonly Action[] => [
  {
    label: `a user backs up ${name}`,
    apply: (world) => {
      const object = world.objects[pathOf(name)];
      if (object === undefined || !isLiving(object)) return undefined;
      const { annotations, labels, finalizers } = object.metadata;
      return {
        ...world,
        ledger: { ...world.ledger, backup: { metadata: { annotations, labels, finalizers }, spec: object['spec'] } },
      };
    },
  },
  {
    label: `a user restores ${name} from the backup`,
    apply: (world) => {
      const { backup } = world.ledger;
      if (backup === undefined || world.objects[pathOf(name)] !== undefined || !isRecord(backup['metadata']))
        return undefined;
      return withNew(world, name, backup['metadata'], backup['spec']);
    },
  },
];

/** A client such as `kubectl replace` writes the object without the annotations that other clients have added. */
const dropsRecord = (name: string): Action =>
  changes(`a client drops the annotations of ${name}`, pathOf(name), ({ metadata }) =>
    metadata.annotations?.[RECORD_ANNOTATION] === undefined
      ? undefined
      : { metadata: { annotations: { [RECORD_ANNOTATION]: null } } },
  );

/** A user saves the record and the status of an object, and later overwrites the current ones with them. */
const setsBack = (name: string): readonly Action[] => [
  {
    label: `a user keeps the record of ${name}`,
    apply: (world) => {
      const object = world.objects[pathOf(name)];
      const record = object?.metadata.annotations?.[RECORD_ANNOTATION];
      if (object === undefined || record === undefined || world.ledger.backup !== undefined) return undefined;
      return { ...world, ledger: { ...world.ledger, backup: { record, status: object['status'] } } };
    },
  },
  {
    label: `a user sets the record of ${name} back`,
    apply: (world) => {
      const { backup } = world.ledger;
      const object = world.objects[pathOf(name)];
      if (object === undefined || backup === undefined || typeof backup['record'] !== 'string') return undefined;
      const annotations = { ...object.metadata.annotations, [RECORD_ANNOTATION]: backup['record'] };
      const { status: _status, ...rest } = object;
      const restored = { ...rest, metadata: { ...object.metadata, annotations } };
      const status = isRecord(backup['status']) ? { status: backup['status'] } : {};
      return { ...world, objects: { ...world.objects, [pathOf(name)]: stored({ ...restored, ...status }) } };
    },
  },
];

/** Another management cluster, with an older or newer backup of the object, creates a profile for its own spec. */
const replacesElsewhere = (name: string): Action =>
  inAws(`another management cluster replaces ${name}`, (aws, web) => {
    const record: unknown = JSON.parse(web.metadata?.annotations?.[RECORD_ANNOTATION] ?? '{}');
    const profile = aws.profiles[PROFILE];
    const other = `9999-${PROFILE}`;
    if (profile?.status !== 'ACTIVE' || aws.profiles[other] !== undefined || fieldAt(record, 'last') === undefined)
      return undefined;
    const serial = aws.serial + 1;
    return withProfile({ ...aws, serial }, other, {
      ...profile,
      serial,
      createdAt: NOW + serial,
      selectors: [{ namespace: 'elsewhere', labels: {} }],
      by: ELSEWHERE,
    });
  });

const takesOver = (name: string): Action => ({
  label: `a user takes the other profile over for ${name}`,
  apply: (world) => {
    const [other, profile] = Object.entries(world.aws.profiles).find(([, { by }]) => by === ELSEWHERE) ?? [];
    const object = world.objects[pathOf(name)];
    if (other === undefined || profile === undefined || object === undefined) return undefined;
    const annotations = { ...object.metadata.annotations, [TAKE_OVER_ANNOTATION]: `id-${profile.serial}` };
    const marked = stored({ ...object, metadata: { ...object.metadata, annotations } });
    return {
      ...world,
      objects: { ...world.objects, [pathOf(name)]: marked },
      aws: withProfile(world.aws, other, { ...profile, by: name }),
    };
  },
});

const inAws = (label: string, change: (aws: Aws, web: Partial<KubeObject>) => Aws | undefined): Action => ({
  label,
  apply: (world) => {
    const aws = change(world.aws, world.objects[pathOf('web')] ?? {});
    return aws === undefined ? undefined : { ...world, aws };
  },
});

const PROFILE = 'team-a_web';
const ROLE = 'prod-team-a_web_fargate';

/** The ids in the record of an object. */
function idsIn({ metadata }: Partial<KubeObject>, field: 'profiles' | 'roles'): readonly unknown[] {
  const record: unknown = JSON.parse(metadata?.annotations?.[RECORD_ANNOTATION] ?? '{}');
  const entries = fieldAt(record, field);
  return Array.isArray(entries) ? entries.map((each: unknown) => fieldAt(each, 'id')) : [];
}

// Without the tags, nothing proves who owns the profile or role if the record does not contain its ID yet.
const stripsProfile = (name: string): Action =>
  inAws(`somebody takes the tags off profile ${name}`, (aws, web) => {
    const profile = aws.profiles[name];
    if (profile === undefined || profile.isStripped) return undefined;
    const isRecorded = idsIn(web, 'profiles').includes(`id-${profile.serial}`);
    const by = isRecorded ? profile.by : 'stranger';
    return withProfile(aws, name, { ...profile, tags: unowned(profile.tags), by, isStripped: true });
  });

const stripsRole = (name: string): Action =>
  inAws(`somebody takes the tags off role ${name}`, (aws, web) => {
    const role = aws.roles[name];
    if (role === undefined || role.isStripped) return undefined;
    const by = idsIn(web, 'roles').includes(`AROA${role.serial}`) ? role.by : 'stranger';
    return withRole(aws, name, { ...role, tags: unowned(role.tags), by, isStripped: true });
  });

const unowned = (tags: Tags): Tags =>
  Object.fromEntries(
    Object.entries(tags).filter(([key]) => !/cluster-api-provider-aws-fargate|kubernetes.io/.test(key)),
  );

const deletesProfileInAws = (name: string): Action =>
  inAws(`somebody deletes profile ${name} in AWS`, (aws) => {
    const profile = aws.profiles[name];
    return profile === undefined || busyProfile(aws) !== undefined
      ? undefined
      : withProfile(aws, name, { ...profile, status: 'DELETING' });
  });

const deletesRoleInAws = (name: string): Action =>
  inAws(`somebody deletes role ${name} in AWS`, (aws) => {
    const { [name]: role, ...roles } = aws.roles;
    return role === undefined ? undefined : { ...aws, roles };
  });

const detachesPolicies = (name: string): Action =>
  inAws(`somebody detaches the policies of role ${name}`, (aws) => {
    const role = aws.roles[name];
    return role === undefined || role.attached.length === 0
      ? undefined
      : withRole(aws, name, { ...role, attached: [] });
  });

/** A PodDisruptionBudget forbids the eviction of the pod on a profile, or allows it again. */
const protectsPod = (name: string): readonly Action[] =>
  [['protects', 'running', 'protected'] as const, ['no longer protects', 'protected', 'running'] as const].map(
    ([does, before, after]) =>
      inAws(`a PodDisruptionBudget ${does} the pod on ${name}`, (aws) => {
        const profile = aws.profiles[name];
        return profile?.pod === before ? withProfile(aws, name, { ...profile, pod: after }) : undefined;
      }),
  );

const takesProfileName = (name: string): Action =>
  inAws(`a stranger creates profile ${name}`, (aws) => {
    if (aws.profiles[name] !== undefined || busyProfile(aws) !== undefined || aws.cluster === 'gone') return undefined;
    const serial = aws.serial + 1;
    return withProfile({ ...aws, serial }, name, {
      status: 'ACTIVE',
      serial,
      createdAt: NOW + serial,
      role: arnOfRole('/', 'theirs'),
      subnets: ['subnet-0a'],
      selectors: [{ namespace: 'theirs', labels: {} }],
      tags: {},
      by: 'stranger',
    });
  });

/** What users, CAPA and AWS do to the Cluster of an object. */
const CHANGES_OF_CLUSTER: readonly Action[] = [
  changes('CAPA reports the control plane as not ready', CONTROL_PLANE_PATH, () => ({ status: { ready: false } })),
  changes('a user makes all subnets public', CONTROL_PLANE_PATH, () => ({
    spec: { network: { subnets: [{ id: 'subnet-0a', isPublic: true }] } },
  })),
  changes('a user names another region', CONTROL_PLANE_PATH, () => ({ spec: { region: 'eu-west-3' } })),
  {
    label: 'the Cluster vanishes',
    apply: (world) => {
      const { [CLUSTER_PATH]: cluster, ...objects } = world.objects;
      return cluster === undefined ? undefined : { ...world, objects };
    },
  },
  inAws('somebody deletes the EKS cluster', (aws) =>
    aws.cluster === 'gone' || Object.keys(aws.profiles).length > 0
      ? undefined
      : { ...aws, cluster: 'gone', entries: {} },
  ),
];

const LOSSES: readonly Fault[] = ['crash', 'answerLost', 'requestLost'];

type More = Partial<Scenario> & Pick<Scenario, 'actions'> & Pick<Aws, 'hasPods'> & { readonly mode?: Aws['mode'] };

/**
 * Returns a scenario with at most `mostActions` actions of users and other clients, and at most `mostFaults` faults.
 */
function scenario(
  name: string,
  about: string,
  [mostActions, mostFaults]: readonly [number, number],
  more: More,
): Scenario {
  const {
    before = [],
    mode = 'CONFIG_MAP',
    hasPods,
    profiles = ['web'],
    managers = [{ profiles }],
    faults = ['crash'],
  } = more;
  const start: World = {
    objects: CLUSTER_OBJECTS,
    aws: { cluster: 'there', mode, profiles: {}, roles: {}, entries: {}, serial: 0, ...(hasPods && { hasPods }) },
    ledger: { actions: mostActions, faults: mostFaults, created: 0, retained: [] },
    managers: managers.map(() => ({ memory: NO_MEMORY, cache: CLUSTER_OBJECTS, asleep: [], reconcile: undefined })),
  };
  return { stalls: [], ...more, name, about, before, profiles, managers, faults, start };
}

const REPLACE: Spec = { ...SPEC, updateStrategy: { type: 'Replace' } };
const DRAINED: Spec = { ...SPEC, updateStrategy: { type: 'Replace', replace: { drainTimeout: '10m' } } };
const SELECTORS_OF_API = { selectors: [{ namespace: 'api' }] };
const SHARED: Spec = { ...SPEC, roleName: 'shared' };
const SHARED_BY_API: Spec = { ...SHARED, ...SELECTORS_OF_API };
const WITH_POLICY: Spec = { ...SHARED, roleAdditionalPolicies: ['arn:aws:iam::aws:policy/ReadOnlyAccess'] };

const LIFE = [creates('web'), deletes('web')];
const OTHER = edits('web', 'the selectors', SELECTORS_OF_API);
const BACK = edits('web', 'the selectors back', { selectors: [{ namespace: 'web' }] });
const MORE = edits('web', 'the selectors to two namespaces', {
  selectors: [{ namespace: 'web' }, { namespace: 'api' }],
});
const RETAIN = edits('web', 'deletionPolicy to Retain', { deletionPolicy: 'Retain' });
const DELETE = edits('web', 'deletionPolicy to Delete', { deletionPolicy: 'Delete' });
const TAGS = edits('web', 'the tags', { additionalTags: { team: 'web' } });
const DRIFT = [deletesProfileInAws(PROFILE), deletesRoleInAws(ROLE), detachesPolicies(ROLE)];
const STRIP = [stripsProfile(PROFILE), stripsRole(ROLE), takesProfileName(PROFILE)];

const DRAIN: More = {
  hasPods: true,
  before: [creates('web', DRAINED)],
  actions: [MORE, BACK, deletes('web'), ...pauses('web'), ...protectsPod(PROFILE), moves],
};

const ofShard = (value: string) => ({ 'cluster.x-k8s.io/watch-filter': value });
const TWO = ['web', 'api'];
const OF_SHARDS = [creates('web', SHARED, ofShard('a')), creates('api', SHARED_BY_API, ofShard('b'))];
const SHARDS = {
  profiles: TWO,
  managers: [
    { profiles: ['web'], watchFilter: 'a' },
    { profiles: ['api'], watchFilter: 'b' },
  ],
  faults: [],
};

export const SCENARIOS: readonly Scenario[] = [
  scenario('life', 'one profile is created, changed and deleted', [2, 1], {
    actions: [...LIFE, OTHER],
    faults: LOSSES,
    stalls: ['SpecDiffers'],
  }),
  scenario('edits', 'a spec is changed and changed back', [2, 1], {
    actions: [...LIFE, OTHER, BACK, TAGS],
    faults: LOSSES,
    stalls: ['SpecDiffers'],
  }),
  scenario('replace', 'a profile is replaced, and replaced again', [3, 1], {
    actions: [creates('web', REPLACE), deletes('web'), OTHER, BACK],
    faults: ['crash', 'eksFails', 'quotaExceeded'],
  }),
  scenario('drain', 'the pod on a replaced profile is moved', [2, 1], { ...DRAIN, faults: LOSSES }),
  scenario('drain again', 'the pod is moved while the spec changes again', [3, 0], DRAIN),
  scenario('pause', 'object and Cluster are paused', [3, 1], {
    actions: [...LIFE, ...pauses('web'), ...pausesCluster],
  }),
  scenario('teardown', 'the Cluster is deleted', [3, 1], {
    actions: [...LIFE, deletesCluster],
    faults: ['crash', 'eksFails'],
  }),
  scenario('retain', 'a retained profile, alone and with its Cluster', [3, 1], {
    actions: [...LIFE, RETAIN, DELETE, deletesCluster],
    stalls: ['RetainBlocksClusterDeletion'],
  }),
  scenario('cluster', 'the Cluster, its control plane and EKS cluster change or vanish', [3, 0], {
    actions: [...LIFE, ...CHANGES_OF_CLUSTER],
    stalls: ['NoPrivateSubnets', 'TargetChanged', 'EKSClusterNotFound'],
  }),
  scenario('move', 'clusterctl moves the objects', [3, 1], { actions: [...LIFE, moves] }),
  scenario('restore', 'an object is restored from an old backup', [4, 1], {
    actions: [...LIFE, ...backups('web')],
    faults: ['crash', 'answerLost'],
  }),
  scenario('records', 'the record of an object is set back to an earlier moment', [4, 0], {
    actions: [creates('web'), deletes('web'), OTHER, ...setsBack('web')],
    stalls: ['SpecDiffers'],
  }),
  scenario('replaced records', 'the record of an object that is replaced is set back', [4, 0], {
    actions: [creates('web', REPLACE), deletes('web'), OTHER, ...setsBack('web')],
    stalls: ['ManagedElsewhere'],
  }),
  scenario('lost records', 'the annotations of an object are dropped', [3, 1], {
    actions: [creates('web', REPLACE), deletes('web'), OTHER, dropsRecord('web')],
    faults: LOSSES,
  }),
  scenario('elsewhere', 'another management cluster replaces the profile of the same object', [4, 0], {
    actions: [
      creates('web', REPLACE),
      deletes('web'),
      OTHER,
      RETAIN,
      deletesCluster,
      replacesElsewhere('web'),
      takesOver('web'),
      deletesProfileInAws(PROFILE),
    ],
    stalls: ['ManagedElsewhere', 'RetainBlocksClusterDeletion'],
  }),
  scenario('drift', 'others change AWS', [3, 1], {
    actions: [...LIFE, ...DRIFT],
    mode: 'API',
    faults: ['crash', 'eksFails'],
  }),
  scenario('tags', 'others take off the ownership tags, or take the name', [3, 1], {
    actions: [...LIFE, ...STRIP],
    stalls: ['OwnershipTagMissing', 'ProfileNotOwned', 'RoleNotOwned'],
  }),
  scenario('refusals', 'AWS refuses calls', [2, 1], {
    actions: LIFE,
    faults: ['denied', 'unavailable', 'clusterUpdating', 'trustRefused', 'quotaExceeded', 'eksFails'],
  }),
  scenario('lag', 'a manager restarts on an API server that is behind', [3, 1], {
    actions: [...LIFE, OTHER, ...pauses('web')],
    faults: ['restartBehind'],
    stalls: ['SpecDiffers'],
  }),
  scenario('shared role', 'two objects share a role and an EKS cluster', [3, 0], {
    actions: [creates('web', SHARED), creates('api', SHARED_BY_API), ...TWO.map((name) => deletes(name))],
    profiles: TWO,
  }),
  scenario('role settings', 'two objects want different policies for a role', [3, 0], {
    before: [creates('web', WITH_POLICY)],
    actions: [
      creates('web', WITH_POLICY),
      creates('api', SHARED_BY_API),
      ...TWO.map((name) => deletes(name)),
      ...TWO.map((name) => dropsRecord(name)),
      deletesProfileInAws(PROFILE),
      RETAIN,
    ],
    profiles: TWO,
    stalls: ['RoleSettingsConflict'],
  }),
  scenario('shards', 'two managers work at the same time on objects that share a role', [2, 0], {
    actions: [...OF_SHARDS, ...TWO.map((name) => deletes(name))],
    mostTransitions: 5_000_000,
    ...SHARDS,
  }),
  scenario('leaving shards', 'two managers delete objects that share a role', [2, 0], {
    before: OF_SHARDS,
    actions: TWO.map((name) => deletes(name)),
    ...SHARDS,
  }),
];

/**
 * Condition reasons that must occur in at least one state of the scenarios. The simulation covers all other reasons.
 */
export const REACHED = `
  AWSError AWSUnavailable AccessDenied ClusterDeleting ClusterUpdating ClusterVanished CreateFailed Creating
  DeleteFailed DeletingProfile Draining EKSClusterNotFound NoPrivateSubnets OwnershipTagMissing PredecessorKept
  ProfileNotOwned Propagating QuotaExceeded RemovingPredecessor Replacing RestoringRole RetainBlocksClusterDeletion
  RoleNotOwned RoleTrustInvalid TargetChanged WaitingForCluster WaitingForCreate
  WaitingForEKSControlPlane WaitingForSibling
`
  .trim()
  .split(/\s+/);

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}
